/* SPDX-License-Identifier: BSD-2-Clause */
/* Seccomp filters of a few instructions. */
#ifndef TESTS_SECCOMP_H
#define TESTS_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

#define SECCOMP_MAX_CALLS 32

/* Applies `listed` to the system calls in `calls` (ended by -1) and `others` to the rest:
 * SECCOMP_RET_… Irrevocable, for this thread and those that it starts. False: the kernel
 * refused. */
__attribute__((unused)) static bool seccomp_enter(const int *calls, unsigned listed,
						  unsigned others)
{
	struct sock_filter code[2 * SECCOMP_MAX_CALLS + 2];
	unsigned short n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 (unsigned)offsetof(struct seccomp_data, nr));
	for (; *calls >= 0 && n < 2 * SECCOMP_MAX_CALLS; calls++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)*calls, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	struct sock_fprog program = {.len = n, .filter = code};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
