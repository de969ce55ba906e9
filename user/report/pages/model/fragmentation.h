/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of free pages of a heap, in the order of addresses, also across the borders of chunks. A
 * page that no event was about ends a run.
 */
#ifndef REPORT_PAGES_MODEL_FRAGMENTATION_H
#define REPORT_PAGES_MODEL_FRAGMENTATION_H

#include "report/pages/model/flow.h"
#include "report/pages/model/heap.h"

struct pages_run_class {
	uint64_t runs, pages;
};

struct pages_runs {
	uint64_t runs, pages;
	uint64_t largest, largest_addr;			 /* pages; of its first page */
	struct pages_run_class size[PAGES_SIZE_CLASSES]; /* by pages_size_class() */
};

struct pages_fragmentation {
	struct pages_runs all;	     /* of pages that are free or scavenged */
	struct pages_runs free;	     /* and not scavenged */
	struct pages_runs scavenged; /* these alone */
};

void pages_fragmentation_make(struct pages_fragmentation *ret, const struct pages_heap *h);
/* The share of the pages that are not in the largest run, from 0 to 1. */
double pages_fragmentation_share(const struct pages_runs *r);

#endif
