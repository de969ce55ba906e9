/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function and context of the next stage of the pipeline. Events are passed in batches, in time
 * order. The array is the caller's; the next stage may change it, and drop events by moving others
 * up, but keeps no pointer into it. A payload is valid until the call returns; a stage that keeps an
 * event for longer copies or holds its payload.
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
