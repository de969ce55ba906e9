/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The estimated live bytes over time, in buckets of one width. When the buckets are used up, the
 * width is doubled and pairs of them become one: memory is bounded, whatever the length of the run.
 * Zeroed memory is an empty one.
 */
#ifndef REPORT_MEM_MODEL_TIMELINE_H
#define REPORT_MEM_MODEL_TIMELINE_H

#include <stdint.h>

#define MEM_TIMELINE_POINTS 1024

struct mem_point {
	double live;			       /* at the end of the bucket */
	double max;			       /* in it, at its begin included */
	double allocated, promoted, collected; /* in it */
};

struct mem_timeline {
	struct mem_point point[MEM_TIMELINE_POINTS];
	uint32_t count;		     /* buckets in use */
	uint32_t halvings;	     /* how often pairs of them became one */
	uint64_t begin_ns, width_ns; /* of the first bucket; of each */
	uint64_t end_ns;	     /* of the last bucket in use */
	double live;		     /* now */
	double peak;		     /* and when it was reached */
	uint64_t peak_ns;
};

void mem_timeline_begin(struct mem_timeline *t, uint64_t ns);
void mem_timeline_advance(struct mem_timeline *t, uint64_t ns); /* private */

/* The bucket of a moment; one before the last bucket counts in it. */
static inline struct mem_point *mem_timeline_at(struct mem_timeline *t, uint64_t ns)
{
	if (ns >= t->end_ns)
		mem_timeline_advance(t, ns);
	return &t->point[t->count - 1];
}

static inline void mem_timeline_allocate(struct mem_timeline *t, uint64_t ns, double bytes)
{
	struct mem_point *p = mem_timeline_at(t, ns);
	t->live += bytes;
	p->live = t->live;
	p->allocated += bytes;
	if (t->live > p->max)
		p->max = t->live;
	if (t->live > t->peak) {
		t->peak = t->live;
		t->peak_ns = ns;
	}
}

static inline void mem_timeline_collect(struct mem_timeline *t, uint64_t ns, double bytes)
{
	struct mem_point *p = mem_timeline_at(t, ns);
	t->live -= bytes;
	p->live = t->live;
	p->collected += bytes;
}

static inline void mem_timeline_promote(struct mem_timeline *t, uint64_t ns, double bytes)
{
	mem_timeline_at(t, ns)->promoted += bytes;
}

#endif
