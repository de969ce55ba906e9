// SPDX-License-Identifier: BSD-2-Clause
/*
 * sandboxed PAIRS: at a line on stdin it enters and leaves a phase PAIRS times; at the next it
 * enters a sandbox in which it may only write and end (anything else kills it), then the phase
 * again. It says on stdout how many pairs there were, and ends with status 42.
 */
#include <ebtrace/probes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void emit(int pairs)
{
	for (int i = 0; i < pairs; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
}

int main(int argc, char **argv)
{
	char said[32];
	if (argc < 2)
		return 2;
	int pairs = atoi(argv[1]);
	snprintf(said, sizeof(said), "%d\n", 2 * pairs);
	fputs("ready\n", stderr);
	if (getchar() == EOF)
		return 3;
	emit(pairs);
	if (getchar() == EOF || enter_sandbox())
		return 4;
	emit(pairs);
	return write(STDOUT_FILENO, said, strlen(said)) < 0 ? 5 : 42;
}
