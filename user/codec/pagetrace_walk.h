/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk over words of a page trace that are in memory, the one decoder of all readers:
 * pagetrace_walk_events() takes the events that are good, which nearly all are;
 * pagetrace_walk_next() then decides what stopped it: a block, damage, or the end of the words.
 *
 * After a damaged word the walk stays in its block if the next word certainly is an event of it: the
 * damaged word is no P or time; the next one is no number of pages (the damaged one may have been a
 * large event), no time (it may have been the P before it) and not earlier than the last event (it may
 * have been a time). Else the walk continues at the next block: a P and a time that are not the second
 * word of a large event and what follows it.
 */
#ifndef CODEC_PAGETRACE_WALK_H
#define CODEC_PAGETRACE_WALK_H

#include "codec/pagetrace_words.h"

#include <endian.h>

struct pagetrace_walk {
	const uint64_t *word; /* that is decoded next */
	size_t words;
	uint64_t offset; /* of `word` in the trace */
	/* No words follow these, but so many bytes that are none. */
	bool whole;
	uint64_t tail_bytes;
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

/*
 * Decodes events, and times between them, to ev[0..cap), or only counts them if ev is NULL. Stops
 * before an event later than until_ns, whose time is *ret_late_ns then, and before any word that is
 * not good. Not while damage is pending. Returns the number of events.
 */
static inline __attribute__((always_inline)) size_t
pagetrace_walk_events(struct pagetrace_walk *k, struct ebt_pagetrace_event *ev, size_t cap,
		      uint64_t until_ns, uint64_t *ret_late_ns)
{
	const uint64_t *w = k->word;
	const size_t n = k->words < k->left ? k->words : k->left;
	const int32_t p = k->p;
	uint64_t base_ns = k->base_ns, last_ns = k->last_ns;
	size_t i = 0, events = 0, syncs = 0, large = 0, raised = 0;
	while (i < n && events < cap) {
		uint64_t word = le64toh(w[i]), addr = word & PAGETRACE_ADDR;
		uint64_t pages = word >> 3 & (PAGETRACE_LARGE_PAGES - 1);
		size_t is_large = 0;
		if (__builtin_expect((word & PAGETRACE_TAG) - 1 > 2, 0)) {
			if (pagetrace_is_time(word) && pagetrace_time_ns(word) >= base_ns) {
				base_ns = pagetrace_time_ns(word);
				syncs++;
				i++;
				continue;
			}
			if (!pagetrace_is_large(word) || i + 1 == n)
				break;
			pages = le64toh(w[i + 1]);
			if (pages < PAGETRACE_LARGE_PAGES)
				break;
			is_large = 1;
		}
		/* 0 wraps around. */
		if (pages - 1 >= (PAGETRACE_ADDR_END - addr) >> PAGETRACE_PAGE_SHIFT)
			break;
		uint64_t own_ns = base_ns + pagetrace_delta_ns(word);
		uint64_t time_ns = own_ns > last_ns ? own_ns : last_ns;
		if (time_ns > until_ns) {
			*ret_late_ns = time_ns;
			break;
		}
		if (ev)
			ev[events] = (struct ebt_pagetrace_event){time_ns, addr, pages, p,
								  word & PAGETRACE_WHAT};
		raised += own_ns < last_ns;
		last_ns = time_ns;
		large += is_large;
		i += 1 + is_large;
		events++;
	}
	pagetrace_walk_skip(k, i);
	k->left -= (uint32_t)i;
	k->base_ns = base_ns;
	k->last_ns = last_ns;
	k->counts->events += events;
	k->counts->syncs += syncs;
	k->counts->large += large;
	k->counts->raised += raised;
	return events;
}

#endif
