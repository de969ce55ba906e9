/* SPDX-License-Identifier: BSD-2-Clause */
/* For programs with known times: clocks, and functions that differ in stacks. */
#ifndef TESTS_PROG_WORK_H
#define TESTS_PROG_WORK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. */
static inline double cpu_seconds(void)
{
	return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

/* A function of its own that takes a time that is proportional to n. */
#define WORK(name)                                                                   \
	static __attribute__((noipa)) uint64_t name(uint64_t x, unsigned n)          \
	{                                                                            \
		for (unsigned i = 0; i < n; i++)                                     \
			x = x * 6364136223846793005ull + 1442695040888963407ull + i; \
		return x;                                                            \
	}

#define WORK_THREADS 15

/* Runs it in this thread, with 1, and in `more` others (WORK_THREADS at most), with 2, 3 and so on.
 * The result of this thread; 0: there are no threads. */
static inline uint64_t work_in_threads(unsigned more, void *(*run)(void *ctx))
{
	pthread_t thread[WORK_THREADS];
	for (unsigned i = 0; i < more; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)(i + 2)))
			return 0;
	uint64_t x = (uint64_t)(uintptr_t)run((void *)1);
	for (unsigned i = 0; i < more; i++)
		pthread_join(thread[i], NULL);
	return x;
}

#endif
