/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes records into one ring: the writer's half of the protocol in <ebtrace/ring.h> (W1-W3).
 *
 * One thread writes a ring. It keeps head and tail to itself and only publishes them in the file;
 * what it reads back from the file are the lengths of its own old records.
 */
#ifndef EBT_RING_WRITER_H
#define EBT_RING_WRITER_H

#include <stdint.h>

#include <ebtrace/ring.h>

struct ebt_ring {
	struct ebt_ring_header *h;
	uint64_t *words;
	uint64_t elements; /* a power of two */
	uint64_t head, tail;
};

static inline void ebt_ring_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}
static inline uint64_t ebt_ring_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* W1: gives up the oldest records until `need` words are free. */
static inline __attribute__((always_inline)) void ebt_ring_make_room(struct ebt_ring *r,
								     uint64_t need)
{
	if (r->tail + need - r->head < r->elements)
		return;
	do {
		uint64_t oldest = ebt_ring_load(&r->words[r->head & (r->elements - 1)]);
		uint32_t words = ebt_ring_event_words(oldest);
		/* The program may have scribbled over its own ring: never loop for ever. */
		r->head = words ? r->head + words : r->tail;
	} while (r->tail + need - r->head >= r->elements && r->head < r->tail);
	ebt_ring_store(&r->h->head, r->head);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* F1; its partner is the reader's F2 */
}

/*
 * Makes room for a record of n <= elements / 2 words at one stretch. Returns where its header word
 * goes; the caller stores the words, then publishes them by ebt_ring_commit().
 */
static inline __attribute__((always_inline)) uint64_t *ebt_ring_reserve(struct ebt_ring *r,
									uint64_t n)
{
	uint64_t at = r->tail & (r->elements - 1);
	uint64_t left = r->elements - at;
	if (__builtin_expect(left < n, 0)) {
		ebt_ring_make_room(r, left + n);
		ebt_ring_store(&r->words[at], ebt_ring_event_header(left, 0, 0, 0, 0));
		r->tail += left;
		at = 0;
	} else {
		ebt_ring_make_room(r, n);
	}
	return &r->words[at];
}

/* W3: publishes the record of n words at tail. */
static inline void ebt_ring_commit(struct ebt_ring *r, uint64_t n)
{
	r->tail += n;
	/* pairs with R1, the reader's acquire */
	__atomic_store_n(&r->h->tail, r->tail, __ATOMIC_RELEASE);
}

#endif
