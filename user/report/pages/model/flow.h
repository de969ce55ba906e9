/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of allocated and of returned pages: how long runs of pages live, by size, and how
 * soon pages that were returned to the system are taken again. Zeroed memory is empty.
 */
#ifndef REPORT_PAGES_MODEL_FLOW_H
#define REPORT_PAGES_MODEL_FLOW_H

#include <errno.h>

#include "base/histogram.h"

/* Classes of runs: 1 page, 2, 3-4, 5-8, ... */
#define PAGES_SIZE_CLASSES 40

struct pages_size_class {
	uint64_t runs, pages; /* allocated */
	struct histogram ns;  /* from an allocation to the free of exactly its pages */
};

/* The lifetime of one run. It is counted at the end of the batch of events, when its place in the
 * histogram has come into the cache. */
struct pages_lifetime {
	uint64_t ns, *place;
	struct histogram *of;
};
#define PAGES_LIFETIMES_WAITING 64

struct pages_lifetimes {
	struct pages_size_class size[PAGES_SIZE_CLASSES];
	struct pages_lifetime waiting[PAGES_LIFETIMES_WAITING];
	unsigned waiting_count;
	uint64_t partial; /* frees of a part of a run */
	uint64_t joined;  /* of several whole runs */
};

/* Classes of times: below 2 ns, below 4 ns, ... */
#define PAGES_TIME_CLASSES 64

struct pages_churn {
	uint64_t scavenges; /* events */
	struct histogram
		again_ns; /* of each page that was taken again: the time since its return */
	uint64_t again[PAGES_TIME_CLASSES]; /* pages, by that time */
};

/* pages: at least 1, below 2^63. The bits that one less has: without a branch. */
static inline unsigned pages_size_class(uint64_t pages)
{
	return 63 - (unsigned)__builtin_clzll((pages - 1) << 1 | 1);
}

static inline unsigned pages_time_class(uint64_t ns)
{
	return ns < 2 ? 0 : 63 - (unsigned)__builtin_clzll(ns);
}

/* The pages of a class: from the least to the most. */
static inline uint64_t pages_size_most(unsigned size_class)
{
	return 1ull << size_class;
}
static inline uint64_t pages_size_least(unsigned size_class)
{
	return size_class ? (1ull << (size_class - 1)) + 1 : 1;
}

/* Counts those that wait. */
static inline void pages_lifetimes_settle(struct pages_lifetimes *l)
{
	for (const struct pages_lifetime *w = l->waiting; w < l->waiting + l->waiting_count; w++)
		histogram_count_at(w->of, w->place, w->ns, 1);
	l->waiting_count = 0;
}

/* 0 or -ENOMEM. */
static inline int pages_lifetimes_add(struct pages_lifetimes *l, uint64_t pages, uint64_t ns)
{
	struct histogram *of = &l->size[pages_size_class(pages)].ns;
	uint64_t *place = histogram_place(of, ns);
	if (!place)
		return -ENOMEM;
	l->waiting[l->waiting_count++] = (struct pages_lifetime){ns, place, of};
	if (l->waiting_count == PAGES_LIFETIMES_WAITING)
		pages_lifetimes_settle(l);
	return 0;
}

static inline void pages_lifetimes_done(struct pages_lifetimes *l)
{
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++)
		histogram_done(&l->size[i].ns);
	*l = (struct pages_lifetimes){0};
}

static inline void pages_churn_done(struct pages_churn *c)
{
	histogram_done(&c->again_ns);
	*c = (struct pages_churn){0};
}

#endif
