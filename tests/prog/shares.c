// SPDX-License-Identifier: BSD-2-Clause
/*
 * Four functions that take 10, 20, 30 and 40 % of the CPU time of their thread: shares SECONDS
 * [THREADS]. Their lengths are random, so that no timer keeps step with them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tests/prog/work.h"

#define ROUNDS 100 /* between two looks at the clock */

static double seconds;

WORK(ten)
WORK(twenty)
WORK(thirty)
WORK(forty)

static void *run(void *ctx)
{
	uint64_t x = (uint64_t)(uintptr_t)ctx;
	while (cpu_seconds() < seconds)
		for (unsigned i = 0; i < ROUNDS; i++) {
			unsigned k = 1 + (unsigned)(x >> 54);
			x = forty(thirty(twenty(ten(x, 10 * k), 20 * k), 30 * k), 40 * k);
		}
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) % (WORK_THREADS + 1) : 0;
	seconds = argc > 1 ? atof(argv[1]) : 1;
	return work_in_threads(threads, run) == 0;
}
