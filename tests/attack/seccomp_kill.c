/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sandboxed program with probes, which dies if it is made to do more than it does by itself: a
 * seccomp filter kills it for whatever opens, makes or removes a file. It emits 1000 pairs of a
 * phase.
 *
 *   seccomp_kill [thread]    prints "ready", waits for a line, emits, prints "done";
 *                            thread: only the thread that emits is under the filter
 */
#include <ebtrace/probes.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int forbidden[] = {
#if defined(SYS_open) /* newer processors have but the other half */
	SYS_open,	  SYS_creat,   SYS_mkdir,     SYS_unlink,   SYS_rename,	   SYS_fork,
#endif
	SYS_openat,	  SYS_openat2, SYS_ftruncate, SYS_truncate, SYS_unlinkat,  SYS_socket,
	SYS_memfd_create, SYS_mkdirat, SYS_clone,     SYS_clone3,   SYS_fallocate, SYS_flock,
	SYS_renameat,
};
#define FORBIDDEN (sizeof(forbidden) / sizeof(forbidden[0]))

static int forbid(void)
{
	struct sock_filter code[2 * FORBIDDEN + 2];
	size_t n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < FORBIDDEN; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)forbidden[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void *work(void *forbidden_here)
{
	char line[8];
	if (forbidden_here && forbid())
		return NULL;
	if (write(1, "ready\n", 6) != 6 || read(0, line, sizeof(line)) < 0)
		return NULL;
	for (int i = 0; i < 1000; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
	return write(1, "done\n", 5) == 5 ? NULL : NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, argv[1]))
			return 1;
		pthread_join(thread, NULL);
		return 0;
	}
	work(argv[0]);
	return 0;
}
