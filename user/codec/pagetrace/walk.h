/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk over words of a page trace that are in memory, the one decoder of all readers:
 * pagetrace_walk_events() takes the events that are good, which nearly all are;
 * pagetrace_walk_next() then decides what stopped it: a block, damage, or the end of the words.
 *
 * After a damaged word the walk stays in its block if the next word certainly is an event of it:
 * the damaged word is no P or time; the next one is no number of pages (the damaged one may have
 * been a large event), no time (it may have been the P before it) and not earlier than the last
 * event (it may have been a time). Else the walk continues at the next block: a P and a time that
 * are not the second word of a large event and what follows it.
 */
#ifndef CODEC_PAGETRACE_WALK_H
#define CODEC_PAGETRACE_WALK_H

#include "codec/pagetrace/words.h"

#include <endian.h>

struct pagetrace_walk {
	const uint64_t *word; /* that is decoded next */
	size_t words;
	uint64_t offset;     /* of `word` in the trace */
	bool whole;	     /* the trace has no words behind these, */
	uint64_t tail_bytes; /* only this many bytes, which are no word */
	/* The block: `left` words may follow in it; 0: only another block may. */
	int32_t p;
	uint32_t left;
	uint64_t base_ns, last_ns;
	/* Damage that may be longer: its offset, and what was expected there. */
	uint64_t damage_at, damage_bytes;
	const char *expected;
	struct ebt_pagetrace_counts *counts;
};

enum pagetrace_next {
	PAGETRACE_NEXT_EVENTS,
	PAGETRACE_NEXT_BLOCK, /* its head was decoded: p, base_ns */
	PAGETRACE_NEXT_DAMAGE,
	PAGETRACE_NEXT_MORE, /* the words left are too few to decide */
	PAGETRACE_NEXT_END,
};

/* What follows the last event. DAMAGE sets *ret, and walk->expected is its reason. */
enum pagetrace_next pagetrace_walk_next(struct pagetrace_walk *k, struct ebt_pagetrace_event *ret);

static inline void pagetrace_walk_skip(struct pagetrace_walk *k, size_t words)
{
	k->word += words;
	k->words -= words;
	k->offset += words * 8;
}

/* An event of one word, of pages that end below 2^48 whatever their number. */
static inline bool pagetrace_is_plain(uint64_t word)
{
	return (word & PAGETRACE_TAG) - 1 < 3 && word & (PAGETRACE_LARGE_PAGES - 1) << 3 &&
	       !(word & PAGETRACE_ADDR_END >> 1);
}

/* Of an event of any other form: its words and pages. 0: the word is none. */
static inline size_t pagetrace_event_words(const uint64_t *w, size_t n, uint64_t *ret_pages)
{
	uint64_t word = le64toh(*w), addr = word & PAGETRACE_ADDR;
	uint64_t pages = word >> 3 & (PAGETRACE_LARGE_PAGES - 1);
	bool is_large = pagetrace_is_large(word);
	if (!(word & PAGETRACE_WHAT) || (word & PAGETRACE_LARGE && !is_large) || n < 1u + is_large)
		return 0;
	if (is_large)
		pages = le64toh(w[1]) < PAGETRACE_LARGE_PAGES ? 0 : le64toh(w[1]);
	*ret_pages = pages;
	/* 0 wraps around. */
	return pages - 1 < (PAGETRACE_ADDR_END - addr) >> PAGETRACE_PAGE_SHIFT ? 1u + is_large : 0;
}

/*
 * Decodes events, and times between them, to ev[0..cap), or only counts them if ev is NULL. Stops
 * before any word that is not good. Not while damage is pending. Returns the number of events.
 */
static inline __attribute__((always_inline)) size_t
pagetrace_walk_events(struct pagetrace_walk *k, struct ebt_pagetrace_event *ev, size_t cap)
{
	const uint64_t *const begin = k->word, *w = begin;
	const uint64_t *const end = w + (k->words < k->left ? k->words : k->left);
	const int32_t p = k->p;
	uint64_t base_ns = k->base_ns, last_ns = k->last_ns, pages;
	size_t events = 0, syncs = 0, large = 0, raised = 0;
	while (w < end && events < cap) {
		/* Nearly all are plain, and not earlier than the one before. */
		const uint64_t *stop = (size_t)(end - w) < cap - events ? end : w + (cap - events);
		const uint64_t *const first = w;
		uint64_t delta =
			last_ns > base_ns ? (last_ns - base_ns) >> PAGETRACE_TIME_SHIFT : 0;
		for (; w < stop; w++) {
			uint64_t word = le64toh(*w);
			if (!pagetrace_is_plain(word) || word >> PAGETRACE_DELTA_SHIFT < delta)
				break;
			delta = word >> PAGETRACE_DELTA_SHIFT;
			if (ev)
				ev[events + (size_t)(w - first)] = (struct ebt_pagetrace_event){
					base_ns + (delta << PAGETRACE_TIME_SHIFT),
					word & PAGETRACE_ADDR,
					word >> 3 & (PAGETRACE_LARGE_PAGES - 1),
					p,
					word & PAGETRACE_WHAT,
				};
		}
		if (w > first)
			last_ns = base_ns + (delta << PAGETRACE_TIME_SHIFT);
		events += (size_t)(w - first);
		if (w == stop)
			continue;
		uint64_t word = le64toh(*w);
		size_t words = pagetrace_event_words(w, (size_t)(end - w), &pages);
		if (pagetrace_is_time(word) && pagetrace_time_ns(word) >= base_ns) {
			base_ns = pagetrace_time_ns(word);
			syncs++;
			w++;
			continue;
		}
		if (!words)
			break;
		uint64_t time_ns = base_ns + pagetrace_delta_ns(word);
		raised += time_ns < last_ns;
		last_ns = time_ns > last_ns ? time_ns : last_ns;
		if (ev)
			ev[events] = (struct ebt_pagetrace_event){last_ns, word & PAGETRACE_ADDR,
								  pages, p, word & PAGETRACE_WHAT};
		large += words - 1;
		w += words;
		events++;
	}
	k->left -= (uint32_t)(w - begin);
	pagetrace_walk_skip(k, (size_t)(w - begin));
	k->base_ns = base_ns;
	k->last_ns = last_ns;
	k->counts->events += events;
	k->counts->syncs += syncs;
	k->counts->large += large;
	k->counts->raised += raised;
	return events;
}

#endif
