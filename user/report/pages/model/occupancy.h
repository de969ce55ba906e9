/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How full the huge pages of 2 MiB and the chunks of 4 MiB of a heap are, and what keeps them: a
 * unit cannot be returned whole while one of its pages is allocated, and cannot be one huge page of
 * the processor while some of its memory is the system's. Units without a seen page do not count.
 */
#ifndef REPORT_PAGES_MODEL_OCCUPANCY_H
#define REPORT_PAGES_MODEL_OCCUPANCY_H

#include "report/pages/model/best.h"
#include "report/pages/model/model.h"

#define PAGES_SHARES  10
#define PAGES_HOLDERS 4

struct pages_units {
	uint32_t bytes, pages; /* of a unit */
	uint64_t units;
	uint64_t empty, full;	      /* none, all of its pages are allocated */
	uint64_t share[PAGES_SHARES]; /* of the others: by tenths that are allocated, rounded up */
	/* Memory of all of its pages is the process's: it can be a huge page. Of some of them. Of
	 * none of them: it is returned. */
	uint64_t whole, mixed, returned;
	/* Not empty, and at most `few` pages are allocated: how many of these, and their pages. */
	uint32_t few;
	uint64_t kept, kept_allocated, kept_free, kept_scavenged;
};

/* A P or a thread that allocated pages of a unit. */
struct pages_holder {
	uint32_t owner; /* slot */
	uint64_t pages;
	uint64_t first_ns, last_ns; /* of their allocations */
};

/* A huge page that is kept by few allocated pages. */
struct pages_kept {
	uint64_t addr;
	uint32_t count[PAGES_COUNTS];
	struct pages_holder holder[PAGES_HOLDERS]; /* those with the most pages */
	uint32_t holders, more_holders;		   /* in the array; beyond it */
};

struct pages_occupancy {
	struct pages_units huge, chunk;
	uint32_t kept_rows;
	struct pages_kept *kept; /* those with the most free pages, scavenged ones included */
};

/* rows: of `kept`, at least 1. 0 or -ENOMEM; done() works after either. */
int pages_occupancy_make(struct pages_occupancy *ret, const struct pages_model *m, uint32_t rows);
void pages_occupancy_done(struct pages_occupancy *o);

#endif
