/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a stage of the pipeline hands its events: the next stage's function and its context. */
#ifndef CORE_OUTLET_H
#define CORE_OUTLET_H

#include <ebtrace/event.h>

struct outlet {
	int (*push)(void *ctx, struct ebt_event *ev); /* 0 or -errno, which ends the run */
	void *ctx;
};

static inline int outlet_push(const struct outlet *o, struct ebt_event *ev)
{
	return o->push(o->ctx, ev);
}

#endif
