/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ends of the intervals of --interval, for the reports that print something at each. Time
 * passes with events, and of a live run without them.
 */
#ifndef REPORT_INTERVAL_H
#define REPORT_INTERVAL_H

#include "session/session.h"

/* In a stretch without events, the intervals after this number are reported as one. */
#define REPORT_INTERVAL_QUIET 100

/* Zeroed memory but for step_ns: not begun. */
struct report_interval {
	uint64_t step_ns; /* 0: there are none */
	uint64_t begin_ns;
	uint64_t next_ns; /* the next end; 0: not begun */
};

/* Calls put() for each interval that ends up to now_ns. It begins with the run, else with first_ns.
 * 0, or what put() returned, which ends it. */
int report_interval_pass(struct report_interval *i, const struct session *s, uint64_t first_ns,
			 uint64_t now_ns, int (*put)(void *ctx, uint64_t begin_ns, uint64_t end_ns),
			 void *ctx);
/* Whether one has ended by now. */
static inline bool report_interval_ends(const struct report_interval *i, uint64_t now_ns)
{
	return i->step_ns && now_ns >= i->next_ns;
}
/* Whether time passes without events, up to this horizon of sink_advance(). */
static inline bool report_interval_is_live(const struct report_interval *i, const struct session *s,
					   uint64_t horizon_ns)
{
	return i->step_ns && horizon_ns != UINT64_MAX && s->run_begin.known;
}

#endif
