/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/timeline.h"

#define FIRST_WIDTH_NS 1000

void mem_timeline_begin(struct mem_timeline *t, uint64_t ns)
{
	t->begin_ns = ns;
	t->width_ns = FIRST_WIDTH_NS;
	t->count = 1;
	t->end_ns = ns + FIRST_WIDTH_NS;
}

static void halve(struct mem_timeline *t)
{
	for (uint32_t i = 0; i < MEM_TIMELINE_POINTS / 2; i++) {
		const struct mem_point *a = &t->point[2 * i], *b = a + 1;
		t->point[i] = (struct mem_point){
			.live = b->live,
			.max = a->max > b->max ? a->max : b->max,
			.allocated = a->allocated + b->allocated,
			.promoted = a->promoted + b->promoted,
			.collected = a->collected + b->collected,
		};
	}
	t->count = MEM_TIMELINE_POINTS / 2;
	t->width_ns *= 2;
	t->halvings++;
}

void mem_timeline_advance(struct mem_timeline *t, uint64_t ns)
{
	while ((ns - t->begin_ns) / t->width_ns >= MEM_TIMELINE_POINTS) {
		/* Buckets without an event have the live bytes of the one before. */
		for (; t->count < MEM_TIMELINE_POINTS; t->count++)
			t->point[t->count] = (struct mem_point){.live = t->live, .max = t->live};
		halve(t);
	}
	uint32_t last = (uint32_t)((ns - t->begin_ns) / t->width_ns);
	for (; t->count <= last; t->count++)
		t->point[t->count] = (struct mem_point){.live = t->live, .max = t->live};
	t->end_ns = t->begin_ns + t->count * t->width_ns;
}
