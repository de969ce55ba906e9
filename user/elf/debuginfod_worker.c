/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/debuginfod_worker.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/worker.h"
#include "elf/machine.h"

#define CPU_SECONDS  20
#define MEMORY_BYTES (512ull << 20)
#define FILES	     64
#define REDIRECTIONS 5
#define NOBODY	     65534

/* Its descriptors. */
enum { FD_SOCKET = 3, FD_END };

/* ---- confinement ---- */

/* Calls that no download makes: others' processes, other programs, the kernel's state, names of
 * files, and connections that others open. */
static const int denied[] = {
	__NR_execve,
	__NR_execveat,
	__NR_ptrace,
	__NR_process_vm_readv,
	__NR_process_vm_writev,
	__NR_kill,
	__NR_bpf,
	__NR_perf_event_open,
	__NR_mount,
	__NR_umount2,
	__NR_unshare,
	__NR_setns,
	__NR_pivot_root,
	__NR_chroot,
	__NR_keyctl,
	__NR_add_key,
	__NR_request_key,
	__NR_init_module,
	__NR_finit_module,
	__NR_delete_module,
	__NR_userfaultfd,
	__NR_io_uring_setup,
	__NR_listen,
	__NR_accept,
	__NR_accept4,
	__NR_openat2,
	__NR_open_by_handle_at,
	__NR_truncate,
	__NR_mkdirat,
	__NR_unlinkat,
	__NR_renameat2,
	__NR_linkat,
	__NR_symlinkat,
	__NR_mknodat,
	__NR_fchmodat,
	__NR_fchownat,
#ifdef __NR_open
	__NR_creat,
	__NR_mkdir,
	__NR_rmdir,
	__NR_unlink,
	__NR_rename,
	__NR_renameat,
	__NR_link,
	__NR_symlink,
	__NR_mknod,
	__NR_chmod,
	__NR_chown,
	__NR_lchown,
#endif
};

#define ARGUMENT(n) ((uint32_t)offsetof(struct seccomp_data, args[n])) /* its lower half */

/* Every open file is for reading. */
static bool enter_seccomp(void)
{
	enum { CALLS = sizeof(denied) / sizeof(*denied) };
	static struct sock_filter code[CALLS + 16];
	unsigned short n = 0;
	const struct sock_filter load_arch =
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	const struct sock_filter load_number =
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	const struct sock_filter deny = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = load_arch;
	code[n++] = (struct sock_filter)BPF_JUMP(
		BPF_JMP | BPF_JEQ | BPF_K, MACHINE_OURS | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE, 1,
		0);
	code[n++] = deny;
	code[n++] = load_number;
	/* Numbers of x32 have bit 30. */
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1u << 30,
						 (uint8_t)(CALLS + 1), 0);
	for (unsigned i = 0; i < CALLS; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)denied[i], (uint8_t)(CALLS - i), 0);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0);
	code[n++] = deny;
#ifdef __NR_open
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_open, 0, 2);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 2, 0, 0);
#endif
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 2);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(2));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
						 O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0);
	code[n++] = allow;
	code[n++] = deny;
	struct sock_fprog program = {.len = n, .filter = code};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* What is written to the standard streams goes nowhere. */
static bool close_streams(void)
{
	int fd = memfd_create("streams", MFD_CLOEXEC);
	for (int i = 0; i < FD_SOCKET; i++)
		if (fd < 0 || dup2(fd, i) < 0)
			return false;
	return fd >= FD_END ? !close(fd) : fd >= FD_SOCKET;
}

/* Root's files are root's to write even without capabilities. A user namespace may have no other
 * user: then it stays root there. */
static void leave_root(void)
{
	if (geteuid())
		return;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		log_at(LOG_DEBUG, "debuginfod: stays root without capabilities");
}

static bool confine(int socket, uint64_t max_bytes)
{
	int fds[FD_END] = {[FD_SOCKET] = socket};
	worker_ignore_signals();
	signal(SIGXFSZ, SIG_IGN);
	prctl(PR_SET_NAME, "ebtrace-debugin");
	log_level = LOG_QUIET;
	if (!worker_keep_descriptors(fds, FD_SOCKET, FD_END) || !close_streams() ||
	    !worker_limit_memory(MEMORY_BYTES) || !worker_limit(RLIMIT_CPU, CPU_SECONDS) ||
	    !worker_limit(RLIMIT_CORE, 0) || !worker_limit(RLIMIT_NOFILE, FILES) ||
	    !worker_limit(RLIMIT_FSIZE, max_bytes))
		return false;
	leave_root();
	return worker_drop_capabilities() && !prctl(PR_SET_PDEATHSIG, SIGKILL) && enter_seccomp();
}

/* ---- libcurl ---- */

struct curl_calls {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *set;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *get;
};

static bool load_curl(struct curl_calls *ret)
{
	static const char *const name[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;
	for (unsigned i = 0; i < sizeof(name) / sizeof(*name) && !library; i++)
		library = dlopen(name[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	ret->global_init = (__typeof__(ret->global_init))dlsym(library, "curl_global_init");
	ret->init = (__typeof__(ret->init))dlsym(library, "curl_easy_init");
	ret->set = (__typeof__(ret->set))dlsym(library, "curl_easy_setopt");
	ret->perform = (__typeof__(ret->perform))dlsym(library, "curl_easy_perform");
	ret->get = (__typeof__(ret->get))dlsym(library, "curl_easy_getinfo");
	return ret->global_init && ret->init && ret->set && ret->perform && ret->get &&
	       !ret->global_init(CURL_GLOBAL_ALL);
}

struct download {
	int fd;
	uint64_t left;
	bool is_too_large;
};

static size_t write_part(char *data, size_t one, size_t bytes, void *ctx)
{
	struct download *d = ctx;
	bytes *= one;
	d->is_too_large |= bytes > d->left;
	if (bytes > d->left || file_write(d->fd, data, bytes))
		return 0;
	d->left -= bytes;
	return bytes;
}

static enum debuginfod_result result_of(const struct curl_calls *c, CURL *handle, CURLcode code)
{
	long status = 0;
	switch (code) {
	case CURLE_OK:
		return DEBUGINFOD_FOUND;
	case CURLE_FILE_COULDNT_READ_FILE:
		return DEBUGINFOD_ABSENT;
	case CURLE_HTTP_RETURNED_ERROR:
		c->get(handle, CURLINFO_RESPONSE_CODE, &status);
		return status == 404 ? DEBUGINFOD_ABSENT : DEBUGINFOD_REFUSED;
	case CURLE_FILESIZE_EXCEEDED:
		return DEBUGINFOD_TOO_LARGE;
	case CURLE_OPERATION_TIMEDOUT:
		return DEBUGINFOD_SILENT;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return DEBUGINFOD_UNREACHABLE;
	default:
		return DEBUGINFOD_REFUSED;
	}
}

static enum debuginfod_result fetch(const struct curl_calls *c, CURL *handle,
				    const struct debuginfod_request *r, int fd)
{
	struct download to = {.fd = fd, .left = r->max_bytes};
	if (c->set(handle, CURLOPT_URL, r->url) ||
	    c->set(handle, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms) ||
	    c->set(handle, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)r->max_bytes) ||
	    c->set(handle, CURLOPT_WRITEDATA, &to))
		return DEBUGINFOD_REFUSED;
	CURLcode code = c->perform(handle);
	return to.is_too_large ? DEBUGINFOD_TOO_LARGE : result_of(c, handle, code);
}

static CURL *new_handle(const struct curl_calls *c)
{
	CURL *h = c->init();
	bool set = h && !c->set(h, CURLOPT_NOSIGNAL, 1L) && !c->set(h, CURLOPT_FAILONERROR, 1L) &&
		   !c->set(h, CURLOPT_FOLLOWLOCATION, 1L) &&
		   !c->set(h, CURLOPT_MAXREDIRS, (long)REDIRECTIONS) &&
		   !c->set(h, CURLOPT_PROTOCOLS_STR, "http,https,file") &&
		   !c->set(h, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") &&
		   !c->set(h, CURLOPT_USERAGENT, "ebtrace/" EBT_VERSION) &&
		   !c->set(h, CURLOPT_WRITEFUNCTION, write_part);
	return set ? h : NULL;
}

/* ---- requests ---- */

/* The descriptor that the request carries; -1: there are no more. */
static int receive(struct debuginfod_request *ret)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {ret, sizeof(*ret)};
	struct msghdr m = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	if (recvmsg(FD_SOCKET, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*ret))
		return -1;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void answer(void)
{
	static struct debuginfod_request request;
	struct curl_calls curl = {0};
	bool has_curl = load_curl(&curl);
	CURL *handle = has_curl ? new_handle(&curl) : NULL;
	for (int fd; (fd = receive(&request)) >= 0; close(fd)) {
		int32_t result = handle ? (int32_t)fetch(&curl, handle, &request, fd)
					: DEBUGINFOD_NO_LIBRARY;
		if (send(FD_SOCKET, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			return;
	}
}

int debuginfod_worker_start(uint64_t max_bytes, int *ret_socket, pid_t *ret_pid)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (!pid) {
		if (confine(pair[1], max_bytes))
			answer();
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
