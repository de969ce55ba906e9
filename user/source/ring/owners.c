/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/owners.h"

#include <string.h>

static void drop_first(struct ring_owners *o)
{
	o->last = o->at[0];
	o->inside = false;
	o->count--;
	memmove(o->at, o->at + 1, o->count * sizeof(*o->at));
}

void ring_owners_look(struct ring_owners *o, uint64_t tail, uint64_t generation, uint32_t tid)
{
	struct ring_owner *newest = o->count ? &o->at[o->count - 1] : NULL;
	if (newest && newest->generation == generation && tail >= newest->until) {
		newest->until = tail;
		newest->tid = tid ? tid : newest->tid;
		return;
	}
	if (o->count == RING_OWNERS)
		drop_first(o);
	o->at[o->count++] = (struct ring_owner){tail, tail, generation, tid};
}

uint32_t ring_owners_next(struct ring_owners *o, uint64_t pos, bool spawns)
{
	while (o->count > 1 && pos >= o->at[0].until)
		drop_first(o);
	const struct ring_owner *now = o->at;
	if (!o->count)
		return 0;
	/* The ring's first event is of its first owner. */
	if (!pos)
		o->generation = 1;
	else if (spawns && o->generation)
		o->generation++;
	if (pos >= now->from && !o->inside) {
		o->inside = true;
		o->generation = now->generation;
	}
	if (!o->generation)
		return 0;
	return o->generation == now->generation	     ? now->tid
	       : o->generation == o->last.generation ? o->last.tid
						     : 0;
}
