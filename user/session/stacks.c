/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/stacks.h"

#include "base/hash.h"
#include <errno.h>
#include <stdlib.h>

/* What programs have, of a few MiB: fewer would be freed and made again and again. */
#define RECLAIM_LEAST 65536

int stacks_new(struct frames *frames, struct stacks **ret)
{
	struct stacks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->frames = frames;
	t->reclaim_at = RECLAIM_LEAST;
	int err = intern_init(&t->table, sizeof(struct stacks_node));
	if (err) {
		free(t);
		return err;
	}
	*ret = t;
	return 0;
}

void stacks_free(struct stacks *t)
{
	if (!t)
		return;
	intern_done(&t->table);
	free(t);
}

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
	return (uint32_t)hash_u64(hash_start(), (uint64_t)parent << 32 | frame);
}

/* At most UINT32_MAX. */
static uint32_t sum(uint32_t a, uint32_t b)
{
	return a < UINT32_MAX - b ? a + b : UINT32_MAX;
}

uint32_t stacks_push_other(struct stacks *t, uint32_t parent, uint32_t frame)
{
	uint32_t hash = hash_of(parent, frame);
	uint32_t at = intern_first(&t->table, hash), id;
	while ((id = intern_next(&t->table, hash, &at))) {
		const struct stacks_node *n = stacks_node(t, id);
		if (n->parent == parent && n->frame == frame)
			break;
	}
	if (!id) {
		const struct stacks_node *outer = stacks_node(t, parent);
		struct stacks_node n = {.parent = parent, .frame = frame};
		n.texts = sum(outer->texts, frames_texts(frames_get(t->frames, frame)));
		n.bytes = sum(outer->bytes, frames_bytes(t->frames, frame));
		id = intern_add(&t->table, hash, &n);
		if (!id)
			return 0;
		stacks_hold(t, parent);
		frames_hold(t->frames, frame);
	}
	t->recent[stacks_recent_at(parent, frame)] = id;
	return id;
}

/* Frees a stack without references, and then each stack that it extends, up to the first with
 * another reference. */
static void free_from(struct stacks *t, uint32_t id)
{
	while (id && !stacks_node(t, id)->refs) {
		struct stacks_node n = *stacks_node(t, id);
		intern_remove(&t->table, hash_of(n.parent, n.frame), id);
		frames_drop(t->frames, n.frame);
		stacks_drop(t, n.parent);
		id = n.parent;
	}
}

void stacks_free_unheld(struct stacks *t)
{
	for (uint32_t id = 1; id < t->table.used; id++)
		if (stacks_node(t, id)->frame)
			free_from(t, id);
	t->reclaimed++;
	/* As many again may come, and a walk over all entries must have paid: so the work is
	 * constant for each new stack. */
	uint32_t most =
		2 * t->table.live > t->table.used / 2 ? 2 * t->table.live : t->table.used / 2;
	t->reclaim_at = most > RECLAIM_LEAST ? most : RECLAIM_LEAST;
}

size_t stacks_frames(const struct stacks *t, uint32_t id, uint32_t *ret, size_t cap)
{
	size_t depth = 0;
	for (uint32_t at = id; at; at = stacks_parent(t, at))
		depth++;
	size_t i = depth < cap ? depth : cap;
	for (; i; id = stacks_parent(t, id))
		ret[--i] = stacks_frame(t, id);
	return depth;
}

uint32_t stacks_count(const struct stacks *t)
{
	return t->table.live;
}
