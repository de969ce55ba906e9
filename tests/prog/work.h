/* SPDX-License-Identifier: BSD-2-Clause */
/* For programs with known times: clocks, and functions that differ in stacks. */
#ifndef TESTS_PROG_WORK_H
#define TESTS_PROG_WORK_H

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

#endif
