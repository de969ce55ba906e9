// SPDX-License-Identifier: BSD-2-Clause
#include "pool.h"
#include "heap.h"
#include <stdlib.h>
#include <sys/mman.h>

_Static_assert(POOL_MAX_CHUNKS == HEAP_MAX_CHUNKS, "the pool has room for all chunks");

#define PAGE_BYTES  8192
#define CHUNK_PAGES (HEAP_CHUNK_BYTES / PAGE_BYTES)

static bool reports(const struct domain *d)
{
	return d->gc->pages && ebt_page_enabled();
}

struct chunk *pool_take(struct domain *d)
{
	struct chunk_pool *p = &d->gc->pool;
	struct chunk *c;
	if (p->n) {
		c = p->chunk[--p->n];
		if (p->scavenged > p->n)
			p->scavenged = p->n;
	} else {
		c = aligned_alloc(HEAP_CHUNK_BYTES, HEAP_CHUNK_BYTES);
		if (!c)
			heap_fatal("out of memory");
	}
	p->in_use++;
	if (reports(d)) {
		d->pages.alloc++;
		ebt_page_alloc(c, CHUNK_PAGES);
	}
	return c;
}

void pool_put(struct domain *d, struct chunk *c)
{
	struct chunk_pool *p = &d->gc->pool;
	c->cells = 0;
	p->chunk[p->n++] = c;
	p->in_use--;
	if (reports(d)) {
		d->pages.free++;
		ebt_page_free(c, CHUNK_PAGES);
	}
}

void pool_scavenge(struct domain *d)
{
	struct chunk_pool *p = &d->gc->pool;
	for (; p->scavenged < p->n / 2; p->scavenged++) {
		struct chunk *c = p->chunk[p->scavenged];
		if (reports(d)) {
			d->pages.scavenge++;
			ebt_page_scavenge(c, CHUNK_PAGES);
		}
		madvise(c, HEAP_CHUNK_BYTES, MADV_DONTNEED);
	}
}

uint64_t pool_pages(size_t chunks)
{
	return chunks * CHUNK_PAGES;
}

void pool_done(struct chunk_pool *p)
{
	while (p->n)
		free(p->chunk[--p->n]);
}
