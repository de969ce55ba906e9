/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Determines what limits a live run that cannot keep up. Time is counted only in windows of 0.1 s
 * in which the main thread was rarely idle, and divided into: waiting for the output to accept
 * more, waiting for a CPU, the format's own work, and the rest (reading rings, merging).
 */
#ifndef STREAM_PACE_H
#define STREAM_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum pace_limit { PACE_NONE, PACE_OUTPUT, PACE_CPU, PACE_FORMAT, PACE_READING };

struct pace_times {
	uint64_t output_ns, cpu_wait_ns, format_ns, run_ns; /* run_ns: on a CPU, format and all */
};

struct pace {
	uint64_t window_ns;	     /* when it began */
	uint64_t blocked_ns;	     /* since when the output accepts nothing; 0: it does */
	uint64_t cpu_ns, delay_ns;   /* of the main thread, at the begin of the window */
	struct pace_times now, busy; /* of the window; of all windows with little rest */
};

void pace_begin(struct pace *p);
/* Whether the output accepts more; to be called often. */
void pace_ready(struct pace *p, bool ready);
/* How long the format had a batch of events. */
void pace_format(struct pace *p, uint64_t ns);

/* PACE_NONE: there was time to spare. */
enum pace_limit pace_limit(const struct pace *p);
uint64_t pace_sum(const struct pace_times *t); /* all of it, where it is busy */

#endif
