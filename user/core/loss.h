/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sums of EBT_LOST events, and their text. The number of lost events may not be known: some
 * rings count words only, and of a time without probes nothing is known. Then the sum is not known
 * either; it is never shown as the number of those that are counted.
 */
#ifndef CORE_LOSS_H
#define CORE_LOSS_H

#include "core/session.h"

/* A stretch of a process's life in which its probes were not in place. */
static inline bool loss_is_unwatched(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST && ev->arg[0] == EBT_LOST_UNCOUNTED && !ev->arg[1] &&
	       ev->flags & EBT_F_HISTORY;
}

void loss_count(struct totals *t, const struct ebt_event *lost);
/* spare_history: what was overwritten before the tracer came is none. What was not watched is
 * not. */
bool loss_is_any(const struct totals *t, bool spare_history);
/* Sums over the time of the trace lack something: what was lost since the tracer came, or what
 * happened while it did not watch. */
bool loss_hides_events(const struct totals *t);

#define LOSS_TEXT_BYTES 160
/* "0 lost", "12 lost (40 words)", "at least 12 lost (…)", "unknown number lost (40 words, 1.250 ms
 * not watched)". Returns text. */
const char *loss_text(const struct totals *t, char text[LOSS_TEXT_BYTES]);

#endif
