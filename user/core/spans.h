/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drops the phases and user spans that are shorter than a limit, begin and end; everything else
 * passes, in the order it came. A begin waits, with what follows it, until its end shows that it
 * was short or the time of the stream shows that it is not: for as long as the limit at most. At
 * SPANS_WAITING events the oldest begin is passed on undecided, so memory is bounded.
 *
 * An end belongs to the innermost begin of the same id that waits in its domain, or in its thread
 * where there is none. A begin whose end is lost, or never comes, passes.
 */
#ifndef CORE_SPANS_H
#define CORE_SPANS_H

#include "core/outlet.h"

#define SPANS_WAITING 65536

struct spans;

/* Events must come sorted by time. 0 or -ENOMEM. */
int spans_new(struct outlet out, uint64_t min_ns, struct spans **ret);
void spans_free(struct spans *s);
/* 0, -ENOMEM or the outlet's error. */
int spans_events(struct spans *s, const struct ebt_event *ev, size_t n);
/* No event before this moment will come any more; UINT64_MAX: none at all. */
int spans_advance(struct spans *s, uint64_t now_ns);

#endif
