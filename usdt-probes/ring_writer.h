/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes records into one ring: the writer's half of the protocol in <ebtrace/ring.h> (W1-W3).
 *
 * One thread writes a ring. It keeps private copies of head and tail and only publishes them in the
 * file; it reads nothing back from the file, which the program may have overwritten. A ring is up
 * to EBT_RING_BLOCKS blocks, and old records are discarded by the block: so most records need no
 * check of head, of the end of the ring or of the watermark, only one comparison with `quiet`.
 */
#ifndef EBT_RING_WRITER_H
#define EBT_RING_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include <ebtrace/ring.h>

#define EBT_RING_BLOCKS 64

struct ebt_ring {
	struct ebt_ring_header *h;
	uint64_t *words;
	uint64_t elements; /* a power of two */
	uint64_t head, tail;
	uint64_t quiet;	  /* a record that ends before this position reaches no new block */
	uint64_t quarter; /* where the next quarter of the ring begins */
	uint64_t block; /* words of a block; a power of two, at least elements / EBT_RING_BLOCKS */
	/* For each block that was reached: words from its begin to the first record in it. */
	uint16_t *first;
};

static inline void ebt_ring_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}
static inline uint64_t ebt_ring_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint16_t *ebt_ring_first(const struct ebt_ring *r, uint64_t block)
{
	return &r->first[block & (r->elements / r->block - 1)];
}

/*
 * Starts to write at head and tail. Records already in the ring were written with this `first`,
 * whose EBT_RING_BLOCKS entries remain the caller's.
 */
static inline void ebt_ring_open(struct ebt_ring *r, struct ebt_ring_header *h, uint64_t *words,
				 uint64_t elements, uint64_t block, uint16_t *first)
{
	uint64_t quarter = elements / 4;
	r->h = h;
	r->words = words;
	r->elements = elements;
	r->head = h->head;
	r->tail = h->tail;
	r->quiet = 0;
	r->quarter = (r->tail & -quarter) + quarter;
	r->block = block;
	r->first = first;
}

/*
 * W1 for a record that will end at `end`, and for all that end in the same block: discards the
 * oldest records, so that head is at most `elements` words before the block's end.
 */
static inline void ebt_ring_make_room(struct ebt_ring *r, uint64_t end)
{
	uint64_t block_end = (end & -r->block) + r->block;
	for (uint64_t b = r->tail / r->block + 1; b <= end / r->block; b++)
		*ebt_ring_first(r, b) = (uint16_t)(end - b * r->block);
	r->quiet = block_end;
	if (block_end <= r->head + r->elements)
		return;
	uint64_t oldest = (block_end - r->elements) / r->block;
	r->head = oldest * r->block + *ebt_ring_first(r, oldest);
	ebt_ring_store(&r->h->head, r->head);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* F1; its partner is the reader's F2 */
}

/* For a record that reaches a new block: the rare half of ebt_ring_reserve(). */
static __attribute__((noinline, unused)) void ebt_ring_enter_block(struct ebt_ring *r, uint64_t n)
{
	uint64_t left = r->elements - (r->tail & (r->elements - 1));
	if (left < n) {
		ebt_ring_make_room(r, r->tail + left);
		ebt_ring_store(&r->words[r->elements - left],
			       ebt_ring_event_header(left, 0, 0, 0, 0));
		r->tail += left;
	}
	ebt_ring_make_room(r, r->tail + n);
}

/*
 * Makes room for a contiguous record of n <= elements / 2 words. Returns the address of its header
 * word; the caller stores the words, then publishes them by ebt_ring_commit().
 */
static inline __attribute__((always_inline)) uint64_t *ebt_ring_reserve(struct ebt_ring *r,
									uint64_t n)
{
	if (__builtin_expect(r->tail + n >= r->quiet, 0))
		ebt_ring_enter_block(r, n);
	return &r->words[r->tail & (r->elements - 1)];
}

/* W3: publishes the record of n words at tail. */
static inline __attribute__((always_inline)) void ebt_ring_commit(struct ebt_ring *r, uint64_t n)
{
	r->tail += n;
	/* pairs with R1, the reader's acquire */
	__atomic_store_n(&r->h->tail, r->tail, __ATOMIC_RELEASE);
}

/* True once for each quarter of the ring that is full. */
static inline __attribute__((always_inline)) bool ebt_ring_quarter_full(struct ebt_ring *r)
{
	if (__builtin_expect(r->tail < r->quarter, 1))
		return false;
	uint64_t quarter = r->elements / 4;
	r->quarter = (r->tail & -quarter) + quarter;
	return true;
}

#endif
