/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which thread wrote each event of a ring. The ring's header has its present owner and counts its
 * owners (generation); a look reads it. Events between two looks with the same generation are of
 * that owner. If the generation changed between them, each domain_spawn in the ring begins the next
 * one: the events of the owners at both looks are known, those of owners in between are not.
 *
 *                 looks:   1 (tid 7)     1        3 (tid 9)      3
 *     tail:                |-------------|--------|--------------|
 *     events:                 of 7         7 s ? s 9    of 9         s: domain_spawn
 *
 * While a recording is paused threads begin without a domain_spawn: their events up to the next
 * look count as those of their predecessor in the ring.
 *
 * A ring is known from its first word on, or else from the first look on. The header is the traced
 * program's: a wrong one makes a wrong thread, and no other harm.
 */
#ifndef SOURCE_RING_OWNERS_H
#define SOURCE_RING_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#define RING_OWNERS \
	8 /* changes between a look and the events that it found; older ones are forgotten */

struct ring_owner {
	uint64_t from, until; /* positions: tails of the first and the last look that found it */
	uint64_t generation;
	uint32_t tid; /* 0: not known */
};

/* Zeroed memory: nothing is known. */
struct ring_owners {
	struct ring_owner at[RING_OWNERS];
	uint32_t count;
	struct ring_owner last; /* of the events before at[0]; generation 0: none */
	uint64_t generation;	/* of the events; 0: not known */
	bool inside;		/* an event between from and until of at[0] has been seen */
};

/* A look has found this tail, and this generation throughout. tid 0: its owner is not known. */
void ring_owners_look(struct ring_owners *o, uint64_t tail, uint64_t generation, uint32_t tid);
/* The thread of the next event, at this position; 0: not known. spawns: it is a domain_spawn. */
uint32_t ring_owners_next(struct ring_owners *o, uint64_t pos, bool spawns);
/* Events are lost before the next one. */
static inline void ring_owners_lose(struct ring_owners *o)
{
	if (!o->inside)
		o->generation = 0;
}

#endif
