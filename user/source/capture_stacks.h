/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The strings, frames and stacks of a capture's block, entered into the session: from the numbers
 * that the block gives them to the session's ids. What a number stood for is held until the next
 * block, or the end, gives the number to something else.
 */
#ifndef SOURCE_CAPTURE_STACKS_H
#define SOURCE_CAPTURE_STACKS_H

#include "codec/capture.h"
#include "core/session.h"

struct capture_ids {
	uint32_t *id; /* by number - 1 */
	size_t count, cap;
};

struct capture_stacks {
	struct session *session;
	struct capture_ids strings, frames, stacks;
};

/* Zeroed memory and the session make one. */
void capture_stacks_done(struct capture_stacks *s);
/* Enters what an item of the three kinds says. 0 or -ENOMEM. */
int capture_stacks_apply(struct capture_stacks *s, const struct capture_item *item);
/* The event's stack, a number of its block, becomes one of the session. */
void capture_stacks_resolve(const struct capture_stacks *s, struct ebt_event *ev);

#endif
