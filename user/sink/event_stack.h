/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of an event as formats have it that write it whole beside each event: the frames, the
 * innermost first. Stacks of sampled allocations are not among them: `ebtrace mem` reports these.
 */
#ifndef SINK_EVENT_STACK_H
#define SINK_EVENT_STACK_H

#include "base/json.h"
#include "core/session.h"

static inline bool event_stack_is_shown(const struct ebt_event *ev)
{
	return ev->stack && ev->kind != EBT_ALLOC;
}
/* Appends a line for each frame. */
void event_stack_lines(const struct session *s, uint32_t stack, const char *indent,
		       struct buf *out);
/* Writes a key and an array of strings. */
void event_stack_json(const struct session *s, uint32_t stack, struct json *j);

#endif
