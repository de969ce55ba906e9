/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse_calls [-c bpf|perf_event_open] [-e ERRNO] PROGRAM [ARGS...]: runs the program under a
 * seccomp filter that refuses one call, or both by default, with ERRNO, or EPERM by default, as the
 * default profiles of containers do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/seccomp.h"

int main(int argc, char **argv)
{
	int calls[] = {SYS_bpf, SYS_perf_event_open, -1};
	unsigned error = EPERM;
	for (int option; (option = getopt(argc, argv, "+c:e:")) >= 0;) {
		if (option == 'e') {
			error = (unsigned)atoi(optarg);
		} else if (option == 'c') {
			calls[0] = strcmp(optarg, "bpf") ? SYS_perf_event_open : SYS_bpf;
			calls[1] = -1;
		} else {
			return 2;
		}
	}
	if (optind >= argc)
		return 2;
	if (!seccomp_enter(calls, SECCOMP_RET_ERRNO | error, SECCOMP_RET_ALLOW)) {
		perror("seccomp");
		return 125;
	}
	execvp(argv[optind], argv + optind);
	perror(argv[optind]);
	return 127;
}
