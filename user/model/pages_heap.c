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
	h->page_rest = page_bytes - 1;
	h->chunk_pages = 1u << (PAGES_CHUNK_SHIFT - h->page_shift);
	h->huge_pages = 1u << (PAGES_HUGE_SHIFT - h->page_shift);
	h->group_pages = h->chunk_pages < PAGES_GROUP ? h->chunk_pages : PAGES_GROUP;
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
	uint32_t groups = h->chunk_pages / h->group_pages;
	struct pages_chunk *c = *leaf ? calloc(1, sizeof(*c) + groups * sizeof(*c->group) +
							  (h->chunk_pages + 1) * sizeof(*c->piece))
				      : NULL;
	if (!c)
		return -ENOMEM;
	c->addr = addr;
	c->number = (uint32_t)h->chunks;
	c->changes = 1;
	c->piece = (struct pages_piece *)(c->group + groups);
	for (uint32_t i = 0; i < groups; i++)
		c->group[i].pieces = 1;
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
			mine->piece[i].heat = 0;
	}
}

/* A page of a piece of [first, end); its heat is the caller's. */
static struct pages_page page_of(const struct pages_chunk *c, uint32_t first, uint32_t end,
				 uint32_t page)
{
	const struct pages_piece *p = &c->piece[first];
	uint64_t unseen = c->group[page >> PAGES_GROUP_SHIFT].freed_unseen;
	uint8_t run =
		(page == first ? PAGES_RUN_FIRST : 0) | (page + 1 == end ? PAGES_RUN_LAST : 0);
	uint8_t flag = unseen >> (page & (PAGES_GROUP - 1)) & 1 ? PAGES_FREED_UNSEEN : 0;
	return (struct pages_page){.since_ns = p->since_ns,
				   .owner = p->kind.owner,
				   .state = p->kind.state,
				   .flags = (p->kind.run & run) | flag};
}

void pages_heap_read(const struct pages_chunk *c, uint32_t first, uint32_t pages,
		     struct pages_page *ret)
{
	uint32_t end = first + pages, heat = 0;
	/* From the begin of the group on, for the heat. */
	for (uint32_t at = first & ~(PAGES_GROUP - 1), n; at < end; at += n) {
		pages_heap_piece(c, at, PAGES_GROUP, &n);
		for (uint32_t i = at; i < at + n && i < end; i++) {
			heat = (i & (PAGES_GROUP - 1) ? heat : 0) + c->piece[i].heat;
			if (i < first)
				continue;
			ret[i - first] = page_of(c, at, at + n, i);
			ret[i - first].allocations = heat;
		}
	}
}

enum pages_state pages_heap_piece(const struct pages_chunk *c, uint32_t page, uint32_t most,
				  uint32_t *ret_pages)
{
	const struct pages_group *g = &c->group[page >> PAGES_GROUP_SHIFT];
	unsigned in = page & (PAGES_GROUP - 1);
	uint64_t behind = g->pieces >> in >> 1;
	uint32_t pages = behind ? (uint32_t)__builtin_ctzll(behind) + 1 : PAGES_GROUP - in;
	*ret_pages = pages < most ? pages : most;
	return c->piece[page - in + pages_piece_first(g, in)].kind.state;
}

void pages_heap_count(const struct pages_chunk *c, uint32_t first, uint32_t pages,
		      uint32_t ret[PAGES_STATES])
{
	for (uint32_t i = first, end = first + pages, n; i < end; i += n) {
		enum pages_state state = pages_heap_piece(c, i, end - i, &n);
		ret[state] += n;
	}
}
