/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/process_lanes.h"

#include <stdlib.h>

#include "base/array.h"

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
	if (!array_reserve(t->at, t->cap, t->count + 1))
		return 0;
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
