/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/pages_heap.h"

#include <errno.h>
#include <stdlib.h>

#define LEAF_CHUNKS  (1u << PAGES_LEAF_BITS)
#define ADDRESS_END  (1ull << PAGES_ADDRESS_BITS)
#define CHUNK_BYTES  (1ull << PAGES_CHUNK_SHIFT)
#define CHUNKS_ALL   (ADDRESS_END >> PAGES_CHUNK_SHIFT)
#define index_of(ad) ((ad) >> PAGES_CHUNK_SHIFT)

void pages_heap_init(struct pages_heap *h, uint32_t page_bytes, uint64_t pages_max)
{
	*h = (struct pages_heap){.page_shift = (unsigned)__builtin_ctz(page_bytes)};
	h->chunk_pages = 1u << (PAGES_CHUNK_SHIFT - h->page_shift);
	h->huge_pages = 1u << (PAGES_HUGE_SHIFT - h->page_shift);
	h->chunks_max = pages_max / h->chunk_pages;
}

void pages_heap_done(struct pages_heap *h)
{
	for (uint32_t l = 0; l < PAGES_LEAVES; l++) {
		for (uint32_t i = 0; h->leaf[l] && i < LEAF_CHUNKS; i++)
			free(h->leaf[l][i]);
		free(h->leaf[l]);
	}
	*h = (struct pages_heap){0};
}

static int add_chunk(struct pages_heap *h, uint64_t addr)
{
	struct pages_chunk ***leaf = &h->leaf[index_of(addr) >> PAGES_LEAF_BITS];
	if (!*leaf)
		*leaf = calloc(LEAF_CHUNKS, sizeof(**leaf));
	struct pages_chunk *c =
		*leaf ? calloc(1, sizeof(*c) + h->chunk_pages * sizeof(*c->page)) : NULL;
	if (!c)
		return -ENOMEM;
	c->addr = addr;
	c->number = (uint32_t)h->chunks;
	c->changes = 1;
	for (unsigned i = 0; i < PAGES_CHUNK_HUGE; i++)
		c->huge[i][PAGES_UNSEEN] = h->huge_pages;
	(*leaf)[index_of(addr) & (LEAF_CHUNKS - 1)] = c;
	h->count[PAGES_UNSEEN] += h->chunk_pages;
	h->chunks++;
	return 0;
}

int pages_heap_reserve(struct pages_heap *h, uint64_t addr, uint64_t pages)
{
	if (addr >= ADDRESS_END || pages > (ADDRESS_END - addr) >> h->page_shift)
		return -ERANGE;
	uint64_t begin = addr & ~(CHUNK_BYTES - 1), end = addr + (pages << h->page_shift);
	uint64_t missing = 0;
	if ((end - begin + CHUNK_BYTES - 1) >> PAGES_CHUNK_SHIFT > h->chunks_max)
		return -EFBIG;
	for (uint64_t at = begin; at < end; at += CHUNK_BYTES)
		missing += !pages_heap_chunk(h, at);
	if (missing > h->chunks_max - h->chunks)
		return -EFBIG;
	int err = 0;
	for (uint64_t at = begin; missing && at < end && !err; at += CHUNK_BYTES)
		err = pages_heap_chunk(h, at) ? 0 : add_chunk(h, at);
	return err;
}

const struct pages_chunk *pages_heap_next(const struct pages_heap *h, uint64_t *at)
{
	while (*at < CHUNKS_ALL) {
		struct pages_chunk **leaf = h->leaf[*at >> PAGES_LEAF_BITS];
		if (!leaf) {
			*at = ((*at >> PAGES_LEAF_BITS) + 1) << PAGES_LEAF_BITS;
			continue;
		}
		const struct pages_chunk *c = leaf[(*at)++ & (LEAF_CHUNKS - 1)];
		if (c)
			return c;
	}
	return NULL;
}

void pages_heap_cool(struct pages_heap *h)
{
	uint64_t at = 0;
	for (const struct pages_chunk *c; (c = pages_heap_next(h, &at));) {
		struct pages_chunk *mine = pages_heap_chunk(h, c->addr);
		for (uint32_t i = 0; i < h->chunk_pages; i++)
			mine->page[i].allocations = 0;
	}
}
