/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a stage of the pipeline hands its events: the next stage's function and its context. Events
 * are handed on in batches, in time order. The array is the caller's; the next stage may change it,
 * and drop events by moving others up, but keeps no pointer into it. A payload is valid until the
 * call returns; a stage that holds an event for longer holds its payload, too.
 */
#ifndef CORE_OUTLET_H
#define CORE_OUTLET_H

#include <ebtrace/event.h>
#include <stddef.h>

#define BATCH_EVENTS 256 /* of one call, at most */

struct outlet {
	/* 0 or -errno, which ends the run. n may be 0. */
	int (*events)(void *ctx, struct ebt_event *ev, size_t n);
	void *ctx;
};

static inline int outlet_events(const struct outlet *o, struct ebt_event *ev, size_t n)
{
	return o->events(o->ctx, ev, n);
}

#endif
