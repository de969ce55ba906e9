/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interned stacks, as a prefix tree: a stack is its parent, which it extends by one frame, and that
 * frame. Id 0 is the empty stack, "none" in an event. Stacks with a common outer part share its
 * memory; a source that knows the length of the part common with the previous backtrace looks up
 * only the frames behind it.
 *
 * References are counted, but nothing is freed before stacks_reclaim(): until then a stack without
 * references can still be found and extended. So a source builds a backtrace frame by frame, and
 * holds only the result. A stack holds its parent and its frame. Not thread-safe.
 */
#ifndef SESSION_STACKS_H
#define SESSION_STACKS_H

#include "session/frames.h"
#include "session/intern.h"

/* Private, except to the inline functions below. */
struct stacks_node {
	uint32_t parent, frame; /* frame 0: of no stack */
	uint32_t refs;		/* of callers, and of the stacks that extend it */
	uint32_t texts;		/* frames_texts() of all its frames; at most UINT32_MAX */
	uint32_t bytes;		/* frames_bytes() of them; at most UINT32_MAX */
};

#define STACKS_RECENT_BITS 12

struct stacks {
	struct intern table;
	struct frames *frames;
	uint32_t reclaim_at; /* number of live stacks at which unheld ones are freed */
	uint64_t reclaimed;  /* times that they were freed: their ids may be reused then */
	/* Stacks that were looked up lately, by a hash of parent and frame; an id may be reused. */
	uint32_t recent[1u << STACKS_RECENT_BITS];
};

/* The frames are kept. 0 or -ENOMEM. */
int stacks_new(struct frames *frames, struct stacks **ret);
void stacks_free(struct stacks *t); /* NULL is allowed */

static inline struct stacks_node *stacks_node(const struct stacks *t, uint32_t id)
{
	return (struct stacks_node *)t->table.entries + id;
}

static inline uint32_t stacks_recent_at(uint32_t parent, uint32_t frame) /* private */
{
	return (parent * 0x9e3779b1u ^ frame * 0x85ebca6bu) >> (32 - STACKS_RECENT_BITS);
}
uint32_t stacks_push_other(struct stacks *t, uint32_t parent, uint32_t frame); /* private */

/*
 * The stack that extends `parent` by a frame, which is not 0; the stack holds the frame. Valid
 * until the next stacks_reclaim() unless the caller holds it. 0: no memory.
 */
static inline uint32_t stacks_push(struct stacks *t, uint32_t parent, uint32_t frame)
{
	uint32_t id = t->recent[stacks_recent_at(parent, frame)];
	const struct stacks_node *n = stacks_node(t, id);
	if (n->frame == frame && n->parent == parent)
		return id;
	return stacks_push_other(t, parent, frame);
}

/* Add and remove a reference to a stack; id 0 is allowed. */
static inline void stacks_hold(struct stacks *t, uint32_t id)
{
	stacks_node(t, id)->refs++;
}
static inline void stacks_drop(struct stacks *t, uint32_t id)
{
	stacks_node(t, id)->refs--;
}

void stacks_free_unheld(struct stacks *t); /* private */

/* Frees stacks without references once they may be more than half of all. */
static inline void stacks_reclaim(struct stacks *t)
{
	if (t->table.live >= t->reclaim_at)
		stacks_free_unheld(t);
}

/* The parent of a stack, 0 at the end; its innermost frame. */
static inline uint32_t stacks_parent(const struct stacks *t, uint32_t id)
{
	return stacks_node(t, id)->parent;
}
static inline uint32_t stacks_frame(const struct stacks *t, uint32_t id)
{
	return stacks_node(t, id)->frame;
}
/* frames_texts() of all frames of a stack, at most UINT32_MAX; 0 for id 0. */
static inline uint32_t stacks_texts(const struct stacks *t, uint32_t id)
{
	return stacks_node(t, id)->texts;
}
/* No less than the bytes of these texts, at most UINT32_MAX. */
static inline uint32_t stacks_bytes(const struct stacks *t, uint32_t id)
{
	return stacks_node(t, id)->bytes;
}
/*
 * Writes the ids of the innermost `cap` frames, the outermost of them first. Returns the number of
 * all frames, which may be more.
 */
size_t stacks_frames(const struct stacks *t, uint32_t id, uint32_t *ret, size_t cap);
/* The number of stacks in memory. */
uint32_t stacks_count(const struct stacks *t);

#endif
