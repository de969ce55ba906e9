/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/process_lanes.h"

#include <stdlib.h>

void process_lanes_done(struct process_lanes *t)
{
	free(t->at);
	*t = (struct process_lanes){0};
}

uint32_t process_lanes_add(struct process_lanes *t, const struct process_lane *lane)
{
	uint32_t id = t->spare;
	if (id) {
		t->spare = t->at[id].next;
		t->at[id] = *lane;
		return id;
	}
	if (t->count + 1 >= t->cap) {
		uint32_t cap = t->cap ? 2 * t->cap : 64;
		struct process_lane *at = realloc(t->at, cap * sizeof(*at));
		if (!at)
			return 0;
		t->at = at;
		t->cap = cap;
	}
	t->at[++t->count] = *lane;
	return t->count;
}

void process_lanes_release(struct process_lanes *t, uint32_t first)
{
	if (!first)
		return;
	uint32_t last = first;
	while (t->at[last].next)
		last = t->at[last].next;
	t->at[last].next = t->spare;
	t->spare = first;
}
