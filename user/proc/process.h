/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a pid is: a process that can be looked into, or the reason why it cannot be.
 */
#ifndef PROC_PROCESS_H
#define PROC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum process_state {
	PROCESS_OPEN,	/* its maps can be read */
	PROCESS_GONE,	/* no such process */
	PROCESS_ZOMBIE, /* ended, not yet waited for */
	PROCESS_KERNEL, /* a kernel thread */
	PROCESS_DENIED, /* somebody else's */
	PROCESS_UNREAD, /* it could not be looked at: `error` says why */
};

struct process_status {
	pid_t pid;
	enum process_state state;
	int error; /* of PROCESS_UNREAD, as -errno: no descriptor or no memory was left to us */
	uid_t uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	char comm[32];
};

/* The first n bytes of /proc/PID/NAME, fewer if it is shorter. Bytes read, or -errno. */
ssize_t process_read(pid_t pid, const char *name, void *ret, size_t n);
/* The first cap - 1 bytes as a string. Its length; or -errno, and it is empty. */
ssize_t process_read_text(pid_t pid, const char *name, char *ret, size_t cap);

/* Looks at a pid. Never fails: what cannot be known is zero, and `state` says why. */
void process_look(pid_t pid, struct process_status *ret);

/* Its number as it sees itself: in the pid namespace it lives in. `pid` if that cannot be read. */
pid_t process_inner_pid(pid_t pid);

/* Calls fn for each child, of any thread, until it returns non-zero, which is then returned. -EMFILE,
 * -ENFILE or -ENOMEM if some could not be listed. */
int process_children(pid_t pid, int (*fn)(pid_t child, void *ctx), void *ctx);

/*
 * A variable of the environment that it was started with. The length of its value, of which cap - 1
 * bytes at most and a NUL are written; -ENOENT: not set; -errno. An empty one counts as not set.
 */
ssize_t process_getenv(pid_t pid, const char *name, char *ret, size_t cap);
/* True if a thread of the process runs under a seccomp filter, which may kill it for a system call
 * that it does not make by itself. */
bool process_is_filtered(pid_t pid);

#endif
