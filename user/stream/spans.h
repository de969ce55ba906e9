/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drops the phases and user spans that are shorter than a limit, begin and end; every other event
 * passes, in the order of arrival. A begin waits, with all events behind it, until its end decides
 * that it was short or the time of the stream that it is not: for as long as the limit at most. At
 * SPANS_WAITING events the oldest begin passes undecided, so memory is bounded.
 *
 * Which end belongs to which begin, and which open spans a loss or the end of a program ends, is
 * decided by stream/tracks.h. A begin that no event of its own ends passes.
 */
#ifndef STREAM_SPANS_H
#define STREAM_SPANS_H

#include "session/processes.h"
#include "stream/event_handler.h"

#define SPANS_WAITING 65536

struct spans;

/* The registry is the one that the events refer to; it is kept. 0 or -ENOMEM. */
int spans_new(const struct processes *ps, struct event_handler out, uint64_t min_ns,
	      struct spans **ret);
void spans_free(struct spans *s);
/* Events sorted by time. 0, -ENOMEM or the error of the event handler. */
int spans_events(struct spans *s, const struct ebt_event *ev, size_t n);
/* No event before this moment will follow; UINT64_MAX: none at all. As spans_events(). */
int spans_advance(struct spans *s, uint64_t now_ns);
/* Releases the state of a process. Its last event must have passed. */
void spans_forget(struct spans *s, uint32_t process);

#endif
