/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of allocated and of returned pages: how long runs of pages live, by size, and how
 * soon pages that were returned to the system are taken again. Zeroed memory is empty.
 */
#ifndef MODEL_PAGES_FLOW_H
#define MODEL_PAGES_FLOW_H

#include "base/histogram.h"

/* Of runs: 1 page, 2, 3-4, 5-8, ... */
#define PAGES_SIZE_CLASSES 40

struct pages_size_class {
	uint64_t runs, pages; /* allocated */
	struct histogram ns;  /* from an allocation to the free of exactly its pages */
};

/* Of one run: to be counted at the end of the batch of events. */
struct pages_lifetime {
	uint64_t ns;
	unsigned size_class;
};
#define PAGES_LIFETIMES_WAITING 64

struct pages_lifetimes {
	struct pages_size_class size[PAGES_SIZE_CLASSES];
	/* Counters of the histograms are fetched into the cache before any of them is counted. */
	struct pages_lifetime waiting[PAGES_LIFETIMES_WAITING];
	unsigned waiting_count;
	uint64_t partial; /* frees of a part of a run */
	uint64_t joined;  /* of several whole runs */
};

/* Of times: below 2 ns, below 4 ns, ... */
#define PAGES_TIME_CLASSES 64

struct pages_churn {
	uint64_t scavenges; /* events */
	struct histogram
		again_ns; /* of each page that was taken again: the time since its return */
	uint64_t again[PAGES_TIME_CLASSES]; /* pages, by that time */
};

static inline unsigned pages_size_class(uint64_t pages)
{
	return pages < 2 ? 0 : 64 - (unsigned)__builtin_clzll(pages - 1);
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

/* Counts those that wait. 0 or -ENOMEM. */
static inline int pages_lifetimes_settle(struct pages_lifetimes *l)
{
	int err = 0;
	for (unsigned i = 0; i < l->waiting_count; i++)
		histogram_prefetch(&l->size[l->waiting[i].size_class].ns, l->waiting[i].ns);
	for (unsigned i = 0; i < l->waiting_count && !err; i++)
		err = histogram_count(&l->size[l->waiting[i].size_class].ns, l->waiting[i].ns, 1);
	l->waiting_count = 0;
	return err;
}

static inline int pages_lifetimes_add(struct pages_lifetimes *l, uint64_t pages, uint64_t ns)
{
	l->waiting[l->waiting_count++] = (struct pages_lifetime){ns, pages_size_class(pages)};
	return l->waiting_count == PAGES_LIFETIMES_WAITING ? pages_lifetimes_settle(l) : 0;
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
