/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Short lives: forks CHILDREN processes, each of which begins and ends one phase BEGINS times and
 * is gone; then executes itself EXECS times, BEGINS times in each. What a tracer must not miss is
 * (CHILDREN + EXECS + 1) * BEGINS. usage: brood CHILDREN BEGINS EXECS [TOGETHER [wait [PIDS
 * [MS]]]]; wait: for a byte on its input, or its end, before the first child. PIDS: a file to which
 * the pid of each child is written. MS: how long a child sleeps before its first phase.
 */
#include <ebtrace/probes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(int begins)
{
	for (int i = 0; i < begins; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int children = atoi(argv[1]), begins = atoi(argv[2]), execs = atoi(argv[3]);
	int together = argc > 4 ? atoi(argv[4]) : 1;
	FILE *pids = argc > 6 ? fopen(argv[6], "we") : NULL;
	int sleep_ms = argc > 7 ? atoi(argv[7]) : 0;
	if (pids)
		setlinebuf(pids); /* a child has none of it to write */
	char byte;
	if (argc > 5 && read(0, &byte, 1) < 0)
		return 1;
	for (int live = 0, i = 0; i < children; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (!pid) {
			if (sleep_ms > 0)
				usleep((useconds_t)sleep_ms * 1000);
			work(begins);
			exit(0);
		}
		if (pids)
			fprintf(pids, "%d\n", (int)pid);
		if (++live == together && wait(NULL) > 0)
			live--;
	}
	while (wait(NULL) > 0)
		;
	work(begins);
	if (execs > 0) {
		char left[16];
		snprintf(left, sizeof(left), "%d", execs - 1);
		execl("/proc/self/exe", argv[0], "0", argv[2], left, (char *)NULL);
		return 1;
	}
	return 0;
}
