/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pairs of malloc() and free(), as whatever is preloaded makes them. Argument: a file, into which
 * goes what a pair takes, in ns: the least of several runs of pairs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS  20
#define PAIRS 100000
#define BYTES 48

static void *volatile kept; /* the compiler must not leave the pair out */

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	double least = 1e9;
	if (argc != 2)
		return 2;
	for (int run = 0; run < RUNS; run++) {
		double begin = now_ns();
		for (int i = 0; i < PAIRS; i++) {
			kept = malloc(BYTES);
			free(kept);
		}
		double ns = (now_ns() - begin) / PAIRS;
		least = ns < least ? ns : least;
	}
	FILE *f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%.3f\n", least);
	return fclose(f) ? 1 : 0;
}
