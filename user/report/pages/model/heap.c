/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/heap.h"

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

static void free_chunk(struct pages_chunk *c)
{
	if (c)
		free(c->group);
	free(c);
}

void pages_heap_done(struct pages_heap *h)
{
	for (uint32_t l = 0; l < PAGES_LEAVES; l++) {
		for (uint32_t i = 0; h->leaf[l] && i < LEAF_CHUNKS; i++)
			free_chunk(h->leaf[l][i]);
		free(h->leaf[l]);
	}
	*h = (struct pages_heap){0};
}

static int add_chunk(struct pages_heap *h, uint64_t addr)
{
	struct pages_chunk ***leaf = &h->leaf[index_of(addr) >> PAGES_LEAF_BITS];
	if (!*leaf)
		*leaf = calloc(LEAF_CHUNKS, sizeof(**leaf));
	struct pages_chunk *c = *leaf ? malloc(sizeof(*c)) : NULL;
	if (!c)
		return -ENOMEM;
	*c = (struct pages_chunk){
		.addr = addr,
		.number = (uint32_t)h->chunks,
		.changes = 1,
		.pages = h->chunk_pages,
		.group_pages = h->group_pages,
		.whole = true,
	};
	(*leaf)[index_of(addr) & (LEAF_CHUNKS - 1)] = c;
	h->count[PAGES_UNSEEN] += h->chunk_pages;
	h->chunks++;
	return 0;
}

int pages_chunk_spread(struct pages_chunk *c)
{
	if (!c->whole)
		return 0;
	uint32_t groups = c->pages / c->group_pages;
	if (!c->group)
		c->group =
			calloc(1, groups * sizeof(*c->group) + (c->pages + 1) * sizeof(*c->piece));
	if (!c->group)
		return -ENOMEM;
	c->piece = (struct pages_piece *)(c->group + groups);
	for (uint32_t i = 0; i < groups; i++) {
		struct pages_piece *first = &c->piece[i * c->group_pages];
		uint8_t ends = (i ? 0 : PAGES_RUN_FIRST) | (i + 1 < groups ? 0 : PAGES_RUN_LAST);
		c->group[i].pieces = 1;
		if (c->freed_unseen)
			c->group[i].freed_unseen = pages_bits(0, c->group_pages);
		first->since_ns = c->since_ns;
		first->kind = c->kind;
		first->kind.run &= ends | PAGES_FOUND;
		first->heat += c->heat;
	}
	c->whole = c->freed_unseen = false;
	c->heat = 0;
	return 0;
}

void pages_chunk_join(struct pages_chunk *c)
{
	const struct pages_piece *first = c->piece, *last = first;
	for (uint32_t g = 0; g < c->pages / c->group_pages; g++)
		for (uint64_t more = c->group[g].pieces; more; more &= more - 1) {
			last = &c->piece[g * c->group_pages + (unsigned)__builtin_ctzll(more)];
			if (last->since_ns != first->since_ns ||
			    last->kind.owner != first->kind.owner ||
			    last->kind.state != first->kind.state ||
			    (last->kind.run ^ first->kind.run) & PAGES_FOUND)
				return;
		}
	c->whole = true;
	c->since_ns = first->since_ns;
	c->kind = first->kind;
	c->kind.run = (first->kind.run & ~PAGES_RUN_LAST) | (last->kind.run & PAGES_RUN_LAST);
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
		mine->heat = 0;
		for (uint32_t i = 0; mine->group && i < h->chunk_pages; i++)
			mine->piece[i].heat = 0;
	}
}

/* A page of a piece of [first, end); its heat is the caller's. */
static struct pages_page page_of(const struct pages_chunk *c, uint32_t first, uint32_t end,
				 uint32_t page)
{
	struct pages_kind kind = c->whole ? c->kind : c->piece[first].kind;
	uint64_t unseen = c->group ? c->group[page / c->group_pages].freed_unseen : 0;
	bool is_unseen = c->freed_unseen || unseen >> (page % c->group_pages) & 1;
	uint8_t run = (page == first ? PAGES_RUN_FIRST : 0) |
		      (page + 1 == end ? PAGES_RUN_LAST : 0) | PAGES_FOUND;
	return (struct pages_page){.since_ns = c->whole ? c->since_ns : c->piece[first].since_ns,
				   .owner = kind.owner,
				   .state = kind.state,
				   .flags =
					   (kind.run & run) | (is_unseen ? PAGES_FREED_UNSEEN : 0)};
}

void pages_heap_read(const struct pages_chunk *c, uint32_t first, uint32_t pages,
		     struct pages_page *ret)
{
	uint32_t end = first + pages, heat = 0;
	/* From the begin of the group on, for the heat. */
	for (uint32_t at = first & ~(PAGES_GROUP - 1), n; at < end; at += n) {
		pages_heap_piece(c, at, PAGES_GROUP, &n);
		for (uint32_t i = at; i < at + n && i < end; i++) {
			heat = (i & (PAGES_GROUP - 1) ? heat : 0) +
			       (c->group ? c->piece[i].heat : 0);
			if (i < first)
				continue;
			ret[i - first] =
				c->whole ? page_of(c, 0, c->pages, i) : page_of(c, at, at + n, i);
			ret[i - first].allocations = heat + c->heat;
		}
	}
}

static struct pages_kind find_piece(const struct pages_chunk *c, uint32_t page, uint32_t most,
				    uint32_t *ret_pages)
{
	*ret_pages = most;
	if (c->whole)
		return c->kind;
	const struct pages_group *g = &c->group[page >> PAGES_GROUP_SHIFT];
	unsigned in = page & (PAGES_GROUP - 1);
	uint64_t behind = g->pieces >> in >> 1;
	uint32_t pages = behind ? (uint32_t)__builtin_ctzll(behind) + 1 : PAGES_GROUP - in;
	*ret_pages = pages < most ? pages : most;
	return c->piece[page - in + pages_piece_first(g, in)].kind;
}

enum pages_state pages_heap_piece(const struct pages_chunk *c, uint32_t page, uint32_t most,
				  uint32_t *ret_pages)
{
	return find_piece(c, page, most, ret_pages).state;
}

void pages_heap_count(const struct pages_chunk *c, uint32_t first, uint32_t pages,
		      uint32_t ret[PAGES_COUNTS])
{
	for (uint32_t i = first, end = first + pages, n; i < end; i += n) {
		struct pages_kind kind = find_piece(c, i, end - i, &n);
		ret[kind.state] += n;
		if (kind.run & PAGES_FOUND)
			ret[pages_found_count(kind.state)] += n;
	}
}
