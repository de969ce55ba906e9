/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/fragmentation.h"

#include <stdbool.h>

/* A run that has begun. */
struct run {
	struct pages_runs *runs;
	uint64_t addr, pages; /* 0 pages: none */
};

static void finish(struct run *r)
{
	struct pages_runs *runs = r->runs;
	if (!r->pages)
		return;
	struct pages_run_class *size = &runs->size[pages_size_class(r->pages)];
	size->runs++;
	size->pages += r->pages;
	runs->runs++;
	runs->pages += r->pages;
	if (r->pages > runs->largest) {
		runs->largest = r->pages;
		runs->largest_addr = r->addr;
	}
	r->pages = 0;
}

static inline void extend(struct run *r, bool belongs, uint64_t addr, uint32_t pages)
{
	if (!belongs) {
		finish(r);
		return;
	}
	if (!r->pages)
		r->addr = addr;
	r->pages += pages;
}

void pages_fragmentation_make(struct pages_fragmentation *ret, const struct pages_heap *h)
{
	struct run all = {&ret->all, 0, 0}, free = {&ret->free, 0, 0};
	struct run scavenged = {&ret->scavenged, 0, 0};
	uint64_t at = 0, next = 0;
	*ret = (struct pages_fragmentation){0};
	for (const struct pages_chunk *c; (c = pages_heap_next(h, &at));) {
		/* Between chunks nothing was seen. */
		if (c->addr != next) {
			finish(&all);
			finish(&free);
			finish(&scavenged);
		}
		next = c->addr + ((uint64_t)h->chunk_pages << h->page_shift);
		for (uint32_t i = 0, n; i < h->chunk_pages; i += n) {
			uint64_t addr = c->addr + ((uint64_t)i << h->page_shift);
			enum pages_state state = pages_heap_piece(c, i, h->chunk_pages - i, &n);
			extend(&all, state == PAGES_FREE || state == PAGES_SCAVENGED, addr, n);
			extend(&free, state == PAGES_FREE, addr, n);
			extend(&scavenged, state == PAGES_SCAVENGED, addr, n);
		}
	}
	finish(&all);
	finish(&free);
	finish(&scavenged);
}

double pages_fragmentation_share(const struct pages_runs *r)
{
	return r->pages ? 1 - (double)r->largest / (double)r->pages : 0;
}
