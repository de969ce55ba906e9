/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * long_pause: begins a pause and prints a line, has a phase inside of it every 20 ms until its
 * input ends, ends the pause, makes three more, and ends.
 */
#include <ebtrace/probes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

static void make_phase(enum ebt_phase phase)
{
	ebt_begin(phase);
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	ebt_end(phase);
}

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	ebt_begin(EBT_PHASE_major);
	puts("paused");
	fflush(stdout);
	while (!poll(&input, 1, 20))
		make_phase(EBT_PHASE_major_mark);
	ebt_end(EBT_PHASE_major);
	for (int i = 0; i < 3; i++)
		make_phase(EBT_PHASE_minor);
	return 0;
}
