/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/symbols_worker.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/worker.h"
#include "elf/machine.h"

#define CPU_SECONDS 30

/* Its descriptors. */
enum { FD_SOCKET = 3, FD_MODULE, FD_DEBUG, FD_END };

/* Allows what reads open files and allocates memory; all else fails. */
static bool enter_seccomp(void)
{
	static const int calls[] = {
		__NR_read,	   __NR_write,	     __NR_pread64, __NR_lseek,	   __NR_fstat,
		__NR_newfstatat,   __NR_mmap,	     __NR_munmap,  __NR_mremap,	   __NR_brk,
		__NR_madvise,	   __NR_mprotect,    __NR_futex,   __NR_getrandom, __NR_exit_group,
		__NR_rt_sigreturn, __NR_sigaltstack,
	};
	enum { CALLS = sizeof(calls) / sizeof(*calls) };
	struct sock_filter code[CALLS + 6] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 MACHINE_OURS | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE, 0, CALLS + 1),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short n = 3;
	for (unsigned i = 0; i < CALLS; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], (uint8_t)(CALLS - i), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = n, .filter = code};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool receive(void *ret, size_t bytes)
{
	for (char *p = ret; bytes;) {
		ssize_t n = read(FD_SOCKET, p, bytes);
		if (n <= 0)
			return false;
		p += n;
		bytes -= (size_t)n;
	}
	return true;
}

struct answers {
	struct buf out;
	struct map numbers; /* of strings, by address */
};

static void put_string(struct answers *a, const char *s)
{
	uint32_t number = 0;
	uint64_t *known = s ? map_put(&a->numbers, (uintptr_t)s) : NULL;
	bool is_new = known && !*known;
	if (is_new)
		*known = a->numbers.count;
	if (known)
		number = (uint32_t)*known;
	buf_put(&a->out, &number, sizeof(number));
	if (!is_new)
		return;
	size_t bytes = strnlen(s, SYMBOLS_WORKER_TEXT);
	buf_put(&a->out, &(uint16_t){(uint16_t)bytes}, sizeof(uint16_t));
	buf_put(&a->out, s, bytes);
}

static void put_positions(struct answers *a, const struct debug_info_position *p, unsigned count)
{
	buf_put(&a->out, &(uint8_t){(uint8_t)count}, 1);
	for (unsigned i = 0; i < count; i++) {
		put_string(a, p[i].function);
		put_string(a, p[i].file);
		buf_put(&a->out, &p[i].line, sizeof(p[i].line));
		buf_put(&a->out, &p[i].column, sizeof(p[i].column));
	}
}

static void put_rule(struct answers *a, struct unwind_rule rule)
{
	buf_put(&a->out, &rule, sizeof(rule));
}

static void answer(const struct debug_info_files *files)
{
	struct debug_info_position position[DEBUG_INFO_POSITIONS_MAX];
	struct debug_info *info;
	struct answers a = {0};
	uint64_t offset;
	if (debug_info_open(files, &info) || buf_init(&a.out, -1, 65536))
		return;
	while (receive(&offset, sizeof(offset))) {
		a.out.len = 0;
		buf_put(&a.out, &(uint32_t){0}, sizeof(uint32_t));
		if (offset & SYMBOLS_WORKER_UNWIND)
			put_rule(&a, debug_info_unwind(info, offset & ~SYMBOLS_WORKER_UNWIND));
		else
			put_positions(&a, position, debug_info_find(info, offset, position));
		uint32_t bytes = (uint32_t)(a.out.len - sizeof(bytes));
		if (a.out.err)
			return;
		memcpy(a.out.data, &bytes, sizeof(bytes));
		if (file_write(FD_SOCKET, a.out.data, a.out.len))
			return;
	}
}

static void run(int socket, const struct debug_info_files *files, uint64_t memory)
{
	int fds[FD_END] = {
		[FD_SOCKET] = socket, [FD_MODULE] = files->module, [FD_DEBUG] = files->debug};
	struct debug_info_files ours = {
		.module = FD_MODULE,
		.debug = files->debug < 0 ? -1 : FD_DEBUG,
		.symbols_only = files->symbols_only,
	};
	worker_ignore_signals();
	prctl(PR_SET_NAME, "ebtrace-symbols");
	log_level = LOG_QUIET;
	if (worker_keep_descriptors(fds, FD_SOCKET, FD_END) && worker_limit_memory(memory) &&
	    worker_limit(RLIMIT_CPU, CPU_SECONDS) && worker_limit(RLIMIT_CORE, 0) &&
	    worker_drop_capabilities() && enter_seccomp())
		answer(&ours);
}

int symbols_worker_start(const struct debug_info_files *files, uint64_t memory, int *ret_socket,
			 pid_t *ret_pid)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (!pid) {
		run(pair[1], files, memory);
		_exit(0);
	}
	int err = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	*ret_socket = pair[0];
	*ret_pid = pid;
	return 0;
}
