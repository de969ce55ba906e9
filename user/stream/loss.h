/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sums of EBT_LOST events, and their text. The number of lost events may not be known: some
 * rings count words only, and of a time without probes nothing is known. Then the sum is not known
 * either; it is never shown as the number of those that are counted.
 *
 * Events from before the trace began (EBT_F_HISTORY) have sums of their own: they are no loss of a
 * run that attached later. A file or a snapshot of a ring has no such run: it lacks them.
 */
#ifndef STREAM_LOSS_H
#define STREAM_LOSS_H

#include "session/session.h"

/* A stretch of a process's life in which its probes were not in place. */
static inline bool loss_is_unwatched(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST && ev->arg[0] == EBT_LOST_UNCOUNTED && !ev->arg[1] &&
	       ev->flags & EBT_F_HISTORY;
}

void loss_count(struct totals *t, const struct ebt_event *lost);
/* True if something was lost. of_run: the totals are of a run or its capture (session.run_begin is
 * known): their history is no loss. Unwatched time is none either. */
bool loss_is_any(const struct totals *t, bool of_run);
/* Sums over the time of the trace lack something: what was lost since the tracer came, or what
 * happened while it did not watch. */
bool loss_hides_events(const struct totals *t);

#define LOSS_TEXT_BYTES 240
/* "0 lost", "12 lost (40 words)", "at least 12 lost (…)", "unknown number lost (40 words,
 * 1.250 ms not watched)"; then, if the totals have any, ", 12 before the trace began (40 words)".
 * Returns text. */
const char *loss_text(const struct totals *t, char text[LOSS_TEXT_BYTES]);

#endif
