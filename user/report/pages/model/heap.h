/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of a heap by address: the state of each one, since when it has that, and its owner.
 * Memory is allocated in chunks of 4 MiB of addresses when a page of one is first used, 17 bytes a
 * page, up to a limit of pages. Every page of a chunk counts in one of the states, so the counts
 * are exact at every moment.
 *
 * An event is about a run of pages, so pages are not kept one by one: those of a group of 64 are
 * cut into pieces. All pages of a piece have the state, the time and the owner that are noted at
 * its first page. An event costs what the pieces cost that it begins, ends and covers, not what its
 * pages would. A chunk of pages that are all alike is one piece, `whole`, and has no groups until
 * they differ, so that events of many GiB cost little more than small ones.
 */
#ifndef REPORT_PAGES_MODEL_HEAP_H
#define REPORT_PAGES_MODEL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGES_CHUNK_SHIFT    22 /* 4 MiB: the unit in which Go's heap keeps its bitmaps */
#define PAGES_HUGE_SHIFT     21 /* 2 MiB: a huge page of the processor */
#define PAGES_CHUNK_HUGE     (1u << (PAGES_CHUNK_SHIFT - PAGES_HUGE_SHIFT))
#define PAGES_ADDRESS_BITS   48
#define PAGES_LEAF_BITS	     13
#define PAGES_LEAVES	     (1u << (PAGES_ADDRESS_BITS - PAGES_CHUNK_SHIFT - PAGES_LEAF_BITS))
#define PAGES_PAGE_BYTES_MIN 4096
#define PAGES_HUGE_PAGES_MAX (1u << (PAGES_HUGE_SHIFT - 12)) /* of any page size */

enum pages_state {
	PAGES_UNSEEN = 0, /* no event was about it */
	PAGES_ALLOCATED = 1,
	PAGES_FREE = 2,	     /* free, its memory still the process's */
	PAGES_SCAVENGED = 3, /* free, its memory returned to the system */
};
#define PAGES_STATES 4

/* Counts beside those of the states: pages with a last change that was found by reading the page
 * tables. Its time is that of the reading. */
enum pages_found {
	PAGES_FOUND_ALLOCATED = 4, /* of PAGES_ALLOCATED */
	PAGES_FOUND_FREE = 5,	   /* of PAGES_FREE */
};
#define PAGES_COUNTS 6

enum pages_flag {
	PAGES_RUN_FIRST = 1, /* of the pages that one event allocated */
	PAGES_RUN_LAST = 2,
	PAGES_FREED_UNSEEN = 4, /* its first event was a free: an allocation is missing, or late */
	PAGES_FOUND = 8,	/* its last change was found by reading the page tables */
};

/* A page, for a reader. */
struct pages_page {
	uint64_t since_ns; /* of the event that gave it its state */
	uint32_t allocations;
	uint16_t owner; /* of its last allocation: a slot of owners.h */
	uint8_t state;	/* enum pages_state */
	uint8_t flags;	/* enum pages_flag */
};

#define PAGES_GROUP_SHIFT 6
#define PAGES_GROUP	  (1u << PAGES_GROUP_SHIFT) /* pages, a bit each */

struct pages_group {
	uint64_t pieces;       /* first pages of pieces: that of the group is one */
	uint64_t freed_unseen; /* pages with that flag */
};

/* What all pages of a piece are; but the flags of runs are its first and its last page's. */
struct pages_kind {
	uint16_t owner; /* of their last allocation */
	uint8_t state;	/* enum pages_state */
	uint8_t run;	/* PAGES_RUN_FIRST, PAGES_RUN_LAST; PAGES_FOUND of all pages */
};

/* By page: of the first of a piece; but the heat of each one. */
struct pages_piece {
	uint64_t since_ns;
	struct pages_kind kind;
	/* Allocations of the page, less those of the one before it in the group, modulo 2^32. */
	uint32_t heat;
};
_Static_assert(sizeof(struct pages_piece) == 16, "of every page");

struct pages_chunk {
	uint64_t addr;
	uint32_t number;  /* of all chunks, in the order in which they were made */
	uint32_t changes; /* of its pages; wraps */
	uint32_t pages;
	bool whole;		   /* all pages are what follows, as one piece: */
	bool freed_unseen;	   /* whole: all, else as in the groups */
	struct pages_kind kind;	   /* whole */
	uint64_t since_ns;	   /* whole */
	uint32_t heat;		   /* whole: of each page, besides that in the pieces */
	uint32_t group_pages;	   /* as of the heap */
	struct pages_group *group; /* NULL: never needed; of a whole one only freed_unseen counts */
	struct pages_piece *piece; /* behind the groups; by page, and one more */
};

/* Readers use page_shift, chunk_pages, huge_pages, chunks and count. */
struct pages_heap {
	unsigned page_shift;
	uint32_t page_rest;		  /* bits of an address within a page */
	uint32_t chunk_pages, huge_pages; /* pages of a chunk, of a huge page */
	uint32_t group_pages; /* of a group: PAGES_GROUP, or a chunk's if that has fewer */
	uint64_t chunks;
	uint64_t count[PAGES_COUNTS]; /* pages of all chunks */
	uint64_t chunks_max;
	struct pages_chunk **leaf[PAGES_LEAVES];
};

/* page_bytes: a power of two from 4096 to 2 MiB; pages_max: the limit. No memory is allocated. */
void pages_heap_init(struct pages_heap *h, uint32_t page_bytes, uint64_t pages_max);
void pages_heap_done(struct pages_heap *h);
/*
 * Makes the chunks of these pages; addr is a multiple of the page size. 0; -ERANGE: they are not
 * all below 2^48; -EFBIG: beyond the limit, nothing is changed; -ENOMEM.
 */
int pages_heap_reserve(struct pages_heap *h, uint64_t addr, uint64_t pages);
/* The chunks in the order of addresses from *at on, which advances behind it; NULL at the end.
 * Start with *at = 0. */
const struct pages_chunk *pages_heap_next(const struct pages_heap *h, uint64_t *at);
/* Sets the number of allocations of all pages to 0. */
void pages_heap_cool(struct pages_heap *h);
/* Copies pages [first, first + pages) of a chunk. */
void pages_heap_read(const struct pages_chunk *c, uint32_t first, uint32_t pages,
		     struct pages_page *ret);
/* The state of a page of a chunk, and how many pages from it on are known to have it, at most
 * `most`, which is not beyond the chunk. */
enum pages_state pages_heap_piece(const struct pages_chunk *c, uint32_t page, uint32_t most,
				  uint32_t *ret_pages);
/* Adds the pages of a chunk, [first, first + pages), to ret, by state, and those found. */
void pages_heap_count(const struct pages_chunk *c, uint32_t first, uint32_t pages,
		      uint32_t ret[PAGES_COUNTS]);

/* The chunk of an address below 2^48; NULL: none. */
static inline struct pages_chunk *pages_heap_chunk(const struct pages_heap *h, uint64_t addr)
{
	uint64_t i = addr >> PAGES_CHUNK_SHIFT;
	struct pages_chunk **leaf = h->leaf[i >> PAGES_LEAF_BITS];
	return leaf ? leaf[i & ((1u << PAGES_LEAF_BITS) - 1)] : NULL;
}

/* The index of the page of an address in its chunk. */
static inline uint32_t pages_heap_index(const struct pages_heap *h, uint64_t addr)
{
	return (uint32_t)(addr >> h->page_shift) & (h->chunk_pages - 1);
}

/* The bits of the pages [first, end) of a group, at least one. */
static inline uint64_t pages_bits(unsigned first, unsigned end)
{
	return ~0ull >> (PAGES_GROUP - (end - first)) << first;
}

/* The first page of the piece that holds a page of the group. */
static inline unsigned pages_piece_first(const struct pages_group *g, unsigned page)
{
	return 63 - (unsigned)__builtin_clzll(g->pieces & ((2ull << page) - 1));
}

/* A piece begins at this page of the group; `piece` has the pages of the group. Nothing else
 * changes. */
static inline void pages_piece_cut(struct pages_group *g, struct pages_piece *piece, unsigned page)
{
	if (g->pieces >> page & 1)
		return;
	struct pages_piece *left = &piece[pages_piece_first(g, page)], *right = &piece[page];
	right->since_ns = left->since_ns;
	right->kind = left->kind;
	right->kind.run &= PAGES_RUN_LAST | PAGES_FOUND;
	left->kind.run &= PAGES_RUN_FIRST | PAGES_FOUND;
	g->pieces |= 1ull << page;
}

/* Where pages of a state that were found are counted, too. */
static inline unsigned pages_found_count(uint8_t state)
{
	return state == PAGES_ALLOCATED ? PAGES_FOUND_ALLOCATED : PAGES_FOUND_FREE;
}

/* A whole chunk gets its groups; of any other nothing changes. 0 or -ENOMEM. */
int pages_chunk_spread(struct pages_chunk *c);
/* After an event of all its pages: they are one piece if they are all alike. */
void pages_chunk_join(struct pages_chunk *c);

/* Sets the state of a page of a chunk that is not whole. No counts change. */
static inline void pages_heap_set(struct pages_chunk *c, uint32_t page, enum pages_state state)
{
	struct pages_group *g = &c->group[page >> PAGES_GROUP_SHIFT];
	unsigned in = page & (PAGES_GROUP - 1);
	struct pages_piece *piece = &c->piece[page - in];
	if (in + 1 < PAGES_GROUP)
		pages_piece_cut(g, piece, in + 1);
	pages_piece_cut(g, piece, in);
	piece[in].kind.state = (uint8_t)state;
}

/* Where pages are. */
struct pages_place {
	struct pages_chunk *chunk; /* NULL: in none that exists, or not in one alone */
	uint32_t page;		   /* of the chunk: the first */
};

/* These pages are used soon: the first of them, and the one behind them, are fetched into the
 * cache. */
static inline struct pages_place pages_heap_find(const struct pages_heap *h, uint64_t addr,
						 uint64_t pages)
{
	struct pages_place ret = {NULL, pages_heap_index(h, addr)};
	if (addr >> PAGES_ADDRESS_BITS || addr & h->page_rest || pages > h->chunk_pages - ret.page)
		return ret;
	ret.chunk = pages_heap_chunk(h, addr);
	if (!ret.chunk || ret.chunk->whole)
		return ret;
	__builtin_prefetch(&ret.chunk->group[ret.page >> PAGES_GROUP_SHIFT], 1);
	__builtin_prefetch(&ret.chunk->piece[ret.page], 1);
	__builtin_prefetch(&ret.chunk->piece[ret.page + pages], 1);
	return ret;
}

#endif
