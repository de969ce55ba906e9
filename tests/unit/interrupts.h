/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handler of SIGALRM that interrupts a loop here and there. The loop calls interrupt_again() in
 * each round with the number of signals so far: the next signal is asked for when the loop has
 * moved on since the last one. With a timer of its own period it does not move where a signal takes
 * longer than that.
 */
#ifndef TESTS_INTERRUPTS_H
#define TESTS_INTERRUPTS_H

#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

struct interrupts {
	uint64_t handled; /* when the last one was asked for */
	long after_us;
};

static inline void interrupt_after(long us)
{
	struct itimerval timer = {{0, 0}, {0, us}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

static inline void interrupts_begin(struct interrupts *in, void (*handler)(int), long after_us)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &sa, NULL);
	*in = (struct interrupts){.handled = UINT64_MAX, .after_us = after_us};
}

static inline void interrupt_again(struct interrupts *in, uint64_t handled)
{
	if (in->handled == handled)
		return;
	in->handled = handled;
	interrupt_after(in->after_us);
}

static inline void interrupts_end(void)
{
	interrupt_after(0);
}

#endif
