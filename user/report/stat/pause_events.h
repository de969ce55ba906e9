/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds events of kind EBT_PAUSE to a stream, behind the ends of pauses: what they were made of
 * (report/stat/model/blame.h). They count as events of the output, and have the stack where the
 * pause began, if one was recorded.
 */
#ifndef REPORT_STAT_PAUSE_EVENTS_H
#define REPORT_STAT_PAUSE_EVENTS_H

#include "session/session.h"
#include "stream/filter.h"
#include "stream/sink.h"

/* A sink before another one, which stays the caller's. Ending and freeing it leave the other alone.
 * Intervals without a CPU that are shorter than min_ns are used, but not passed on, and neither is
 * what the names of a filter, which outlives it, do not select (NULL: all are). 0 or -ENOMEM. */
int pause_events_new(struct session *s, struct sink *next, uint64_t min_ns, struct filter *names,
		     struct sink **ret);

#endif
