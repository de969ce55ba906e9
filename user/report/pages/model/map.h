/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of a heap: what the pages of each stretch of addresses were over time. Its columns are
 * the buckets of a pages_timeline, each the state at the end of its bucket; a chunk has the same
 * number of rows in each, from one a page down to one, so that all chunks together have
 * PAGES_MAP_ROWS as long as they can. Columns between which nothing happened share their memory; at
 * most 5 bytes * PAGES_TIMELINE_POINTS * max(PAGES_MAP_ROWS, chunks) are used.
 */
#ifndef REPORT_PAGES_MODEL_MAP_H
#define REPORT_PAGES_MODEL_MAP_H

#include <stdbool.h>

#include "report/pages/model/timeline.h"

#define PAGES_MAP_ROWS 2048

enum pages_shade {
	PAGES_SHADE_ALLOCATED,
	PAGES_SHADE_FREE,
	PAGES_SHADE_SCAVENGED,
	PAGES_SHADE_FOUND_ALLOCATED, /* by reading the page tables, at that time */
	PAGES_SHADE_FOUND_FREE,
};
#define PAGES_SHADES 5

/* Shares of the pages of a cell, 255: all of them. What is missing was never seen. */
struct pages_cell {
	uint8_t share[PAGES_SHADES];
};

struct pages_map_column;

/* Readers use chunks, rows and count. Zeroed memory is an empty map. */
struct pages_map {
	uint32_t chunks;
	uint32_t rows;	/* of a chunk */
	uint32_t count; /* columns */
	uint64_t width_ns;
	struct pages_map_column *column[PAGES_TIMELINE_POINTS];
	uint32_t *changes; /* of each chunk, by its number, when the last column was made */
};

void pages_map_done(struct pages_map *m);
/* Forgets all columns: the timeline has begun. */
void pages_map_begin(struct pages_map *m);
/*
 * After pages_timeline_advance(): makes the columns of buckets that have ended, of the heap as it
 * is. With `last` that of the bucket in use, too: after pages_timeline_finish(), once. 0 or
 * -ENOMEM.
 */
int pages_map_follow(struct pages_map *m, const struct pages_timeline *t,
		     const struct pages_heap *h, bool last);
/* A cell: the row counts from the lowest address of the chunk. */
struct pages_cell pages_map_cell(const struct pages_map *m, uint32_t column,
				 const struct pages_chunk *c, uint32_t row);

/* The number of pages of a shade. count: as in struct pages_heap. */
static inline uint64_t pages_shade_count(const uint64_t count[PAGES_COUNTS], enum pages_shade shade)
{
	switch (shade) {
	case PAGES_SHADE_ALLOCATED:
		return count[PAGES_ALLOCATED] - count[PAGES_FOUND_ALLOCATED];
	case PAGES_SHADE_FREE:
		return count[PAGES_FREE] - count[PAGES_FOUND_FREE];
	case PAGES_SHADE_SCAVENGED:
		return count[PAGES_SCAVENGED];
	case PAGES_SHADE_FOUND_ALLOCATED:
		return count[PAGES_FOUND_ALLOCATED];
	case PAGES_SHADE_FOUND_FREE:
		return count[PAGES_FOUND_FREE];
	}
	return 0;
}

#endif
