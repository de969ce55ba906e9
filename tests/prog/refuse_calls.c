/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse_calls PROGRAM [ARGS...]: runs the program under a seccomp filter that refuses bpf() and
 * perf_event_open() with EPERM, as the default profiles of containers do.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/seccomp.h"

int main(int argc, char **argv)
{
	static const int calls[] = {SYS_bpf, SYS_perf_event_open, -1};
	if (argc < 2)
		return 2;
	if (!seccomp_enter(calls, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW)) {
		perror("seccomp");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
