/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enters the strings, frames and stacks of a capture's block into the session, and maps their
 * numbers in the block to the session's ids. The ids of a block are held until the next block, or
 * the end, replaces them.
 */
#ifndef SOURCE_FILE_CAPTURE_STACKS_H
#define SOURCE_FILE_CAPTURE_STACKS_H

#include "codec/capture/capture.h"
#include "session/session.h"

struct capture_ids {
	uint32_t *id; /* by number - 1 */
	size_t count, cap;
};

struct capture_stacks {
	struct session *session;
	struct capture_ids strings, frames, stacks;
};

/* Initialised by zeroes and the session. */
void capture_stacks_done(struct capture_stacks *s);
/* Enters an item of one of the three kinds. 0 or -ENOMEM. */
int capture_stacks_apply(struct capture_stacks *s, const struct capture_item *item);
/* Replaces the event's stack, a number of its block, by the session's id. */
void capture_stacks_resolve(const struct capture_stacks *s, struct ebt_event *ev);

#endif
