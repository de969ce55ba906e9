/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/tree.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"

#define NONE UINT32_MAX

/* By row: its parent, its first child and the sibling behind it. */
struct link {
	uint32_t parent, child, next;
	bool is_placed;
};

struct tree {
	const struct top_row *from;
	struct top_row *to;
	struct link *link;
	uint32_t count, placed;
};

/* The newest process of each pid; of those that have ended only where none runs. */
static int link_rows(struct tree *t)
{
	struct map by_pid = {0};
	int err = 0;
	for (uint32_t i = 0; i < t->count && !err; i++) {
		uint64_t *at = t->from[i].pid ? map_put(&by_pid, t->from[i].pid) : NULL;
		if (t->from[i].pid && !at)
			err = -ENOMEM;
		else if (at && (!*at || t->from[*at - 1].ended))
			*at = i + 1;
		t->link[i] = (struct link){NONE, NONE, NONE, false};
	}
	/* The last sibling first, so that each list is in the order of the rows. */
	for (uint32_t i = t->count; i-- && !err;) {
		const uint64_t *at = t->from[i].parent ? map_get(&by_pid, t->from[i].parent) : NULL;
		uint32_t parent = at && *at - 1 != i ? (uint32_t)(*at - 1) : NONE;
		t->link[i].parent = parent;
		if (parent == NONE)
			continue;
		t->link[i].next = t->link[parent].child;
		t->link[parent].child = i;
	}
	map_done(&by_pid);
	return err;
}

static void place(struct tree *t, uint32_t i, uint32_t depth, uint32_t open, bool is_last)
{
	struct top_row *r = &t->to[t->placed++];
	*r = t->from[i];
	r->depth = (uint8_t)(depth < TOP_DEPTH_MAX ? depth : TOP_DEPTH_MAX);
	r->open = open;
	r->is_last = is_last;
	t->link[i].is_placed = true;
}

/* The rows below a root, without recursion: a chain may be long. There are no circles. */
static void walk(struct tree *t, uint32_t root)
{
	uint32_t depth = 0, open = 0, at = root;
	place(t, root, 0, 0, true);
	for (;;) {
		uint32_t next = t->link[at].child;
		if (next != NONE) {
			depth++;
		} else {
			while (at != root && t->link[at].next == NONE) {
				at = t->link[at].parent;
				depth--;
			}
			if (at == root)
				return;
			next = t->link[at].next;
		}
		bool is_last = t->link[next].next == NONE;
		uint32_t bit = depth < 32 ? 1u << depth : 0;
		open = is_last ? open & ~bit : open | bit;
		place(t, next, depth, open, is_last);
		at = next;
	}
}

int top_tree_make(struct top_rows *rows)
{
	struct tree t = {.from = rows->row, .count = rows->count};
	if (!rows->count)
		return 0;
	t.to = malloc(rows->count * sizeof(*t.to));
	t.link = malloc(rows->count * sizeof(*t.link));
	int err = t.to && t.link ? link_rows(&t) : -ENOMEM;
	for (uint32_t i = 0; i < t.count && !err; i++)
		if (t.link[i].parent == NONE)
			walk(&t, i);
	/* What is left is in circles. */
	for (uint32_t i = 0; i < t.count && !err; i++)
		if (!t.link[i].is_placed)
			place(&t, i, 0, 0, true);
	free(t.link);
	if (err) {
		free(t.to);
		return err;
	}
	free(rows->row);
	rows->row = t.to;
	rows->cap = t.count;
	return 0;
}
