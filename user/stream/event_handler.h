/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function, with its context, that receives the events of a stage of the pipeline: the next
 * stage. Events are passed in batches, in time order. The array is the caller's; the next stage may
 * change it, and drop events by moving others up, but keeps no pointer into it. A payload is valid
 * until the call returns; a stage that keeps an event for longer copies or holds its payload.
 */
#ifndef STREAM_EVENT_HANDLER_H
#define STREAM_EVENT_HANDLER_H

#include <ebtrace/event.h>
#include <stddef.h>

#define BATCH_EVENTS 256 /* of one call, at most */

struct event_handler {
	/* 0 or -errno, which ends the run. n may be 0. */
	int (*events)(void *ctx, struct ebt_event *ev, size_t n);
	void *ctx;
};

static inline int event_handler_call(const struct event_handler *h, struct ebt_event *ev, size_t n)
{
	return h->events(h->ctx, ev, n);
}

#endif
