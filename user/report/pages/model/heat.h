/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each page of a heap was allocated, and the pages and huge pages with the most
 * allocations. */
#ifndef REPORT_PAGES_MODEL_HEAT_H
#define REPORT_PAGES_MODEL_HEAT_H

#include "report/pages/model/best.h"
#include "report/pages/model/model.h"

struct pages_heat_class {
	uint64_t pages, allocations; /* allocations: of all of them together */
};

struct pages_heat {
	uint64_t pages, allocations; /* pages with an event; the sum of their allocations */
	/* Pages that were never allocated; that were 1 time, 2, 3-4, 5-8, ... */
	uint64_t cold;
	struct pages_heat_class times[PAGES_SIZE_CLASSES];
	struct pages_best page, huge; /* by allocations; of a huge page: of all its pages */
};

/* rows: of `page` and `huge`, at least 1. 0 or -ENOMEM; done() works after either. */
int pages_heat_make(struct pages_heat *ret, const struct pages_model *m, uint32_t rows);
void pages_heat_done(struct pages_heat *h);
/* The page at an address that is in a chunk. */
struct pages_page pages_heat_page(const struct pages_model *m, uint64_t addr);

#endif
