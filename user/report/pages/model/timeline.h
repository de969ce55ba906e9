/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of a heap by state over time, in buckets of one width. When the buckets are used up,
 * the width is doubled and pairs of them become one: memory is bounded, whatever the length of the
 * run. A bucket is filled when the next one begins, or at the end. Zeroed memory is an empty one.
 */
#ifndef REPORT_PAGES_MODEL_TIMELINE_H
#define REPORT_PAGES_MODEL_TIMELINE_H

#include "report/pages/model/heap.h"

#define PAGES_TIMELINE_POINTS 1024

/* Pages that changed their state by events, since the counting began. */
struct pages_moved {
	uint64_t allocated, freed, returned; /* returned: free ones were scavenged */
};

struct pages_point {
	uint64_t count[PAGES_COUNTS]; /* at the end of the bucket, as of pages_heap */
	uint64_t most;		      /* allocated in it, at its begin included */
	struct pages_moved moved;     /* until its end */
};

struct pages_timeline {
	struct pages_point point[PAGES_TIMELINE_POINTS];
	uint32_t count;		     /* buckets in use */
	uint64_t begin_ns, width_ns; /* of the first bucket; of each */
	uint64_t end_ns;	     /* of the last bucket in use */
};

/* `now`: the state at that moment. */
void pages_timeline_begin(struct pages_timeline *t, uint64_t ns, const uint64_t now[PAGES_COUNTS]);
/* Fills the last bucket with the state before `ns`, which is not before its end, and begins the one
 * that holds `ns`. */
void pages_timeline_advance(struct pages_timeline *t, uint64_t ns, const uint64_t now[PAGES_COUNTS],
			    const struct pages_moved *moved);
/* Fills the last bucket. */
void pages_timeline_finish(struct pages_timeline *t, const uint64_t now[PAGES_COUNTS],
			   const struct pages_moved *moved);
/* Pages turn out to have been allocated from a moment on until another one. */
void pages_timeline_amend(struct pages_timeline *t, uint64_t from_ns, uint64_t to_ns,
			  uint64_t pages);

/* The number of allocated pages is this at a moment in the last bucket, or before it. */
static inline void pages_timeline_raise(struct pages_timeline *t, uint64_t allocated)
{
	struct pages_point *p = &t->point[t->count - 1];
	if (allocated > p->most)
		p->most = allocated;
}

#endif
