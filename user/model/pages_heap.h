/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of a heap by address: what each one is, since when, and whose. Memory is allocated in
 * chunks of 4 MiB of addresses when a page of one is first used, 16 bytes a page, up to a limit of
 * pages. Every page of a chunk counts in one of the states, so the counts are exact at every moment.
 */
#ifndef MODEL_PAGES_HEAP_H
#define MODEL_PAGES_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define PAGES_CHUNK_SHIFT    22 /* 4 MiB: the unit in which Go's heap keeps its bitmaps */
#define PAGES_HUGE_SHIFT     21 /* 2 MiB: a huge page of the processor */
#define PAGES_CHUNK_HUGE     (1u << (PAGES_CHUNK_SHIFT - PAGES_HUGE_SHIFT))
#define PAGES_ADDRESS_BITS   48
#define PAGES_LEAF_BITS	     13
#define PAGES_LEAVES	     (1u << (PAGES_ADDRESS_BITS - PAGES_CHUNK_SHIFT - PAGES_LEAF_BITS))
#define PAGES_PAGE_BYTES_MIN 4096

enum pages_state {
	PAGES_UNSEEN = 0, /* no event was about it */
	PAGES_ALLOCATED = 1,
	PAGES_FREE = 2,	     /* free, its memory still the process's */
	PAGES_SCAVENGED = 3, /* free, its memory returned to the system */
};
#define PAGES_STATES 4

enum pages_flag {
	PAGES_RUN_FIRST = 1, /* of the pages that one event allocated */
	PAGES_RUN_LAST = 2,
	PAGES_FREED_UNSEEN = 4, /* its first event was a free: an allocation is missing, or late */
};

struct pages_page {
	uint64_t since_ns; /* of the event that gave it its state */
	uint32_t allocations;
	uint16_t owner; /* who allocated it last: a slot of pages_owners.h */
	uint8_t state;	/* enum pages_state */
	uint8_t flags;	/* enum pages_flag */
};

struct pages_chunk {
	uint64_t addr;
	uint32_t number;  /* of all chunks, in the order in which they were made */
	uint32_t changes; /* of its pages; wraps */
	uint32_t huge[PAGES_CHUNK_HUGE][PAGES_STATES]; /* pages of each 2 MiB, by state */
	struct pages_page page[];
};

/* Readers use page_shift, chunk_pages, huge_pages, chunks and count. */
struct pages_heap {
	unsigned page_shift;
	uint32_t chunk_pages, huge_pages; /* pages of a chunk, of a huge page */
	uint64_t chunks;
	uint64_t count[PAGES_STATES]; /* pages of all chunks */
	uint64_t chunks_max;
	struct pages_chunk *last; /* of the last look-up */
	struct pages_chunk **leaf[PAGES_LEAVES];
};

/* page_bytes: a power of two from 4096 to 2 MiB; pages_max: the limit. No memory is allocated. */
void pages_heap_init(struct pages_heap *h, uint32_t page_bytes, uint64_t pages_max);
void pages_heap_done(struct pages_heap *h);
/*
 * Makes the chunks of these pages; addr is a multiple of the page size. 0; -ERANGE: they are not all
 * below 2^48; -EFBIG: beyond the limit, nothing is changed; -ENOMEM.
 */
int pages_heap_reserve(struct pages_heap *h, uint64_t addr, uint64_t pages);
/* The chunks in the order of addresses from *at on, which advances behind it; NULL at the end.
 * Start with *at = 0. */
const struct pages_chunk *pages_heap_next(const struct pages_heap *h, uint64_t *at);
/* Sets the number of allocations of all pages to 0. */
void pages_heap_cool(struct pages_heap *h);

/* The chunk of an address below 2^48; NULL: none. */
static inline struct pages_chunk *pages_heap_chunk(struct pages_heap *h, uint64_t addr)
{
	uint64_t i = addr >> PAGES_CHUNK_SHIFT;
	if (h->last && h->last->addr >> PAGES_CHUNK_SHIFT == i)
		return h->last;
	struct pages_chunk **leaf = h->leaf[i >> PAGES_LEAF_BITS];
	struct pages_chunk *c = leaf ? leaf[i & ((1u << PAGES_LEAF_BITS) - 1)] : NULL;
	if (c)
		h->last = c;
	return c;
}

/* These pages, of any address, are used soon. Of a long run, its begin and its end. */
static inline void pages_heap_prefetch(const struct pages_heap *h, uint64_t addr, uint64_t pages)
{
	uint64_t i = addr >> PAGES_CHUNK_SHIFT;
	if (addr >> PAGES_ADDRESS_BITS || !h->leaf[i >> PAGES_LEAF_BITS])
		return;
	const struct pages_chunk *c =
		h->leaf[i >> PAGES_LEAF_BITS][i & ((1u << PAGES_LEAF_BITS) - 1)];
	if (!c)
		return;
	uint64_t first = (addr >> h->page_shift) & (h->chunk_pages - 1);
	uint64_t room = h->chunk_pages - first, n = pages < room ? pages : room;
	__builtin_prefetch(&c->page[first], 1);
	if (n > 4)
		__builtin_prefetch(&c->page[first + 4], 1);
	if (n > 1)
		__builtin_prefetch(&c->page[first + n - 1], 1);
}

#endif
