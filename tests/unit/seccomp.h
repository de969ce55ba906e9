/* SPDX-License-Identifier: BSD-2-Clause */
/* Seccomp filters of a few instructions. */
#ifndef TESTS_SECCOMP_H
#define TESTS_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECCOMP_MAX_CALLS 32

/* The filter that applies `listed` to the system calls in `calls` (ended by -1) and `others` to the
 * rest: SECCOMP_RET_… Returns its length. */
static inline unsigned short seccomp_make(const int *calls, unsigned listed, unsigned others,
					  struct sock_filter code[2 * SECCOMP_MAX_CALLS + 2])
{
	unsigned short n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 (unsigned)offsetof(struct seccomp_data, nr));
	for (; *calls >= 0 && n < 2 * SECCOMP_MAX_CALLS; calls++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)*calls, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	return n;
}

/* Irrevocable, for this thread and those that it starts. False: the kernel refused. by_prctl: or
 * seccomp(), which libc has no function for. */
static inline bool seccomp_enter_as(const int *calls, unsigned listed, unsigned others,
				    bool by_prctl)
{
	struct sock_filter code[2 * SECCOMP_MAX_CALLS + 2];
	struct sock_fprog program = {.len = seccomp_make(calls, listed, others, code),
				     .filter = code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	return !(by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
			  : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static inline bool seccomp_enter(const int *calls, unsigned listed, unsigned others)
{
	return seccomp_enter_as(calls, listed, others, true);
}

static inline bool seccomp_enter_by_call(const int *calls, unsigned listed, unsigned others)
{
	return seccomp_enter_as(calls, listed, others, false);
}

#endif
