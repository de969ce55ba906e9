/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tracer has used: processes that it has started, and those that these have waited for. */
#include "engine/live/cost.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

#define BURN_NS	    150000000u
#define TICKS_NS    30000000u /* /proc counts in ticks: of the two kinds of two processes */
#define MEMORY	    (32u << 20)
#define OTHERS	    (16u << 20) /* the share of library pages moves with other programs */
#define READ_PERIOD 100000u

static uint64_t own_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void burn(void)
{
	uint64_t end = own_ns() + BURN_NS;
	for (volatile uint64_t i = 1; i % READ_PERIOD || own_ns() < end; i++)
		;
}

/* The CPU time of children that have ended. */
static uint64_t ended_ns(void)
{
	struct rusage r;
	getrusage(RUSAGE_CHILDREN, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000u;
}

/* A child that has waited for one of its own, and computes itself; both take BURN_NS and more,
 * which is added to *used. */
static pid_t start_child(uint64_t *used)
{
	int fd[2];
	uint64_t both;
	if (pipe(fd))
		abort();
	pid_t child = fork();
	if (!child) {
		char *p = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		memset(p, 1, MEMORY);
		pid_t own = fork();
		if (!own) {
			burn();
			_exit(0);
		}
		waitpid(own, NULL, 0);
		burn();
		both = own_ns() + ended_ns();
		if (write(fd[1], &both, sizeof(both)) == sizeof(both))
			pause();
		_exit(1);
	}
	if (read(fd[0], &both, sizeof(both)) != sizeof(both))
		abort();
	*used += both;
	close(fd[0]);
	close(fd[1]);
	return child;
}

int main(void)
{
	struct cost before, after, without;
	cost_read(0, true, &before);
	ok(before.memory_bytes > 0, "a process costs memory");
	burn();
	cost_read(0, true, &after);
	ok(after.cpu_ns >= before.cpu_ns + BURN_NS / 2, "and the CPU time that it has used");
	before = after;
	uint64_t used = 0, own = own_ns();
	pid_t child = start_child(&used);
	cost_read(0, true, &after);
	cost_read(child, true, &without);
	own = own_ns() - own;
	uint64_t more = after.cpu_ns - before.cpu_ns;
	ok(used >= 2 * BURN_NS && more + TICKS_NS >= used,
	   "a child costs what it has used, and what it waited for");
	ok(more <= used + own + 2 * TICKS_NS, "each once");
	ok(after.memory_bytes >= before.memory_bytes + MEMORY - OTHERS, "and its memory");
	ok(without.cpu_ns - before.cpu_ns <= own + TICKS_NS,
	   "the program that is traced costs nothing");
	ok(without.memory_bytes < before.memory_bytes + MEMORY - OTHERS, "nor does its memory");
	pid_t second = start_child(&used);
	cost_read(child, true, &after);
	ok(after.cpu_ns - before.cpu_ns + TICKS_NS >= 2 * BURN_NS,
	   "those that were started behind it do");
	ok(after.memory_bytes >= before.memory_bytes + MEMORY - OTHERS, "and so does their memory");
	cost_read(0, false, &after);
	is(after.memory_bytes, 0, "memory is read where that is asked for");
	kill_child(child, SIGKILL);
	kill_child(second, SIGKILL);
	waitpid(child, NULL, 0);
	waitpid(second, NULL, 0);
	return tap_done();
}
