/* SPDX-License-Identifier: BSD-2-Clause */
/* Emits the pair of one phase every millisecond for the given number of seconds (default 1). */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ebtrace/probes.h>

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 1;
	int rounds = seconds * 1000;
	for (int i = 0; i < rounds; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	printf("pairs %d ring %s\n", rounds, ebt_ring_path() ? ebt_ring_path() : "none");
	return 0;
}
