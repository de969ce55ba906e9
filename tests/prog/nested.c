// SPDX-License-Identifier: BSD-2-Clause
/*
 * Emits events at a known depth of functions, and prints "NAME LINE" of each call on the way, the
 * innermost first. Compiled with frame pointers; DEPTH further functions lie between. Waits for a
 * byte before it begins, and for the end of its input before it ends.
 *
 *     nested DEPTH ROUNDS [FILE]
 *
 * FILE gets the CPU time of an event, in ns.
 */
#include <ebtrace/probes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define APART	__attribute__((noinline, noclone))
#define KEEP(v) __asm__ volatile("" : "+r"(v) : : "memory")

enum { INNER_LINE = __LINE__ + 4 };
APART int inner(int n);
APART int inner(int n)
{
	ebt_begin(EBT_PHASE_minor);
	ebt_counter(EBT_COUNTER_minor_promoted, (uint64_t)n);
	ebt_end(EBT_PHASE_minor);
	KEEP(n);
	return n + 1;
}

enum { MIDDLE_LINE = __LINE__ + 7, DEEPER_LINE = MIDDLE_LINE - 2 };
APART int middle(int n, int depth);
APART int middle(int n, int depth)
{
	if (depth)
		n = middle(n, depth - 1);
	else
		n = inner(n);
	KEEP(n);
	return n + 1;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 1;
	char byte;
	printf("inner %d\nmiddle %d\n", INNER_LINE, MIDDLE_LINE);
	for (int i = 0; i < depth; i++)
		printf("middle %d\n", DEEPER_LINE);
	printf("main %d\n", __LINE__ + 6);
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	clock_t begin = clock();
	for (int i = 0; i < rounds; i++) {
		int n = middle(i, depth);
		KEEP(n);
	}
	FILE *cost = argc > 3 ? fopen(argv[3], "w") : NULL;
	if (cost) {
		fprintf(cost, "%.0f\n", (double)(clock() - begin) * 1000 / (3.0 * rounds));
		fclose(cost);
	}
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
