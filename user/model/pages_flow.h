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

struct pages_lifetimes {
	struct pages_size_class size[PAGES_SIZE_CLASSES];
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
