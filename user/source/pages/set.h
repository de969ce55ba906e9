/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of pages, by number (address / page size): a sorted array of chunks of 512 pages, a bit
 * each. Memory follows the chunks that have a page; a change of a range costs what is in the range,
 * however long it is. Runs are maximal: two that follow each other are one. Zeroed memory is an
 * empty set. Not thread-safe.
 */
#ifndef SOURCE_PAGES_SET_H
#define SOURCE_PAGES_SET_H

#include <stddef.h>
#include <stdint.h>

#define PAGE_CHUNK_PAGES 512

struct page_chunk {
	uint64_t number; /* of its first page / PAGE_CHUNK_PAGES */
	uint64_t *bits;
};

struct page_set {
	struct page_chunk *chunk; /* ascending, none without pages */
	size_t chunks, room, last;
	uint64_t pages;
};

/* A run of pages; != 0 ends the call, which returns it. It must not change the sets. */
typedef int page_run_fn(void *ctx, uint64_t first, uint64_t pages);

void page_set_done(struct page_set *s); /* it is empty then */
/* Adds `pages` pages; calls fn, if not NULL, for the runs of those that were not in the set. 0,
 * -ENOMEM or what fn returned: some of the pages have been added. */
int page_set_add(struct page_set *s, uint64_t first, uint64_t pages, page_run_fn *fn, void *ctx);
/* Removes `pages` pages; calls fn, if not NULL, for the runs of those that were in the set. 0, or
 * what fn returned: all have been removed nevertheless. */
int page_set_remove(struct page_set *s, uint64_t first, uint64_t pages, page_run_fn *fn, void *ctx);
/* The runs of pages of a range that are in a and, if b is not NULL, not in b. */
int page_set_each(const struct page_set *a, const struct page_set *b, uint64_t first,
		  uint64_t pages, page_run_fn *fn, void *ctx);

#define PAGE_SET_ALL UINT64_MAX /* of pages: all from `first` on */

#endif
