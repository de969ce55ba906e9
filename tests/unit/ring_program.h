/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes with a ring of libebtrace-probes, which end when the test wants them to. */
#ifndef TESTS_RING_PROGRAM_H
#define TESTS_RING_PROGRAM_H

#include <ebtrace/probes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct ring_program {
	pid_t pid;
	int end; /* it ends when this is closed */
};

#define RING_PROGRAM_PHASES 10 /* that it has begun */

/* Has nothing open that would keep others from their end. */
static void ring_program_run(int ready, int end)
{
	char byte;
	pid_t pid = getpid();
	for (int fd = 3; fd < 1024; fd++)
		if (fd != ready && fd != end)
			close(fd);
	bool good = !ebt_start();
	for (int i = 0; i < RING_PROGRAM_PHASES; i++)
		ebt_begin(EBT_PHASE_minor);
	good = good && write(ready, &pid, sizeof(pid)) == sizeof(pid);
	_exit(!good || read(end, &byte, 1));
}

/* A child; orphan: a child of init, so no process of the test's. */
static struct ring_program ring_program_start(bool orphan)
{
	int ready[2], end[2];
	struct ring_program p = {0};
	if (pipe(ready) || pipe(end))
		abort();
	pid_t child = fork();
	if (!child) {
		if (!orphan || !fork())
			ring_program_run(ready[1], end[0]);
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	if (child < 0 || (orphan && waitpid(child, NULL, 0) != child) ||
	    read(ready[0], &p.pid, sizeof(p.pid)) != sizeof(p.pid))
		abort();
	close(ready[0]);
	p.end = end[1];
	return p;
}

#endif
