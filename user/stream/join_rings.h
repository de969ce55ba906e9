/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What join knows of each ring, in an array by lane (session/processes.h). An entry holds what every
 * event of the ring is compared with and changes, and no more: the entries of many rings share few
 * cache lines. The rest, which losses and late events need, is allocated at the ring's first event.
 *
 * A life of a ring is the time in which one program writes to it; its ordinals begin at 0 again in
 * the next one. This module keeps the state; join decides when a life ends.
 */
#ifndef STREAM_JOIN_RINGS_H
#define STREAM_JOIN_RINGS_H

#include "session/processes.h"
#include "stream/ordinals.h"
#include <ebtrace/event.h>
#include <stdbool.h>

/* Reported as lost, and not delivered since. */
struct missing {
	uint64_t events, words;
};

#define JOIN_UNREAD 16

/* What only losses and late events need. */
struct ring_past {
	bool has_file; /* events of this life were read from a ring file */
	/* Lives before this one of which no file was read yet, and how many events each had. */
	uint32_t unread, unread_next[JOIN_UNREAD];
	uint32_t stale_next;  /* with RING_STALE: of the life whose file is read */
	uint32_t history_end; /* ordinals before it are of the history */
	struct ordinals ordinals;
	struct ebt_event lost; /* with RING_HAS_LOSS: to be reported before the next event */
	struct missing missing, history;
	struct join_ring *before; /* with RING_BEHIND: the life that the late file interrupts */
};

enum ring_flag {
	RING_STARTED = 1 << 0,	/* an event was delivered in this life */
	RING_HAS_LOSS = 1 << 1, /* the ring has reported a loss since its last event */
	RING_ENDED = 1 << 2,	/* its process, or that one's program, has ended */
	RING_STALE = 1 << 3,	/* its late events are of an earlier life's file */
	RING_BEHIND = 1 << 4,	/* a file found late is read; past->before goes on behind it */
};

struct join_ring {
	uint64_t next;		    /* ordinal of the next event, not wrapped */
	uint64_t last_ts, last_pos; /* of the last event; as in an event, copied at once */
	uint32_t last_size;
	uint32_t flags;		/* of enum ring_flag */
	struct ring_past *past; /* NULL: the ring had no event yet */
};

struct join_rings {
	struct join_ring *at; /* by lane */
	uint32_t lanes;
};

/* Zeroed memory holds no ring. */
void join_rings_done(struct join_rings *rs);

struct join_ring *join_rings_add(struct join_rings *rs, uint32_t lane); /* private */

/* The entry of a lane, whose `flags` are 0 while the ring had no event; NULL: no entry. */
static inline struct join_ring *join_rings_at(const struct join_rings *rs, uint32_t lane)
{
	return lane < rs->lanes ? &rs->at[lane] : NULL;
}

/* The ring of a lane, added at the first call; NULL: no memory, or the lane is 0. Pointers to
 * others are invalid afterwards. */
static inline struct join_ring *join_rings_get(struct join_rings *rs, uint32_t lane)
{
	struct join_ring *r = join_rings_at(rs, lane);
	return r && r->past ? r : join_rings_add(rs, lane);
}

/* Starts another life of the ring. */
void join_ring_renew(struct join_ring *r);
/* Starts a life that a file found late has, unless there is no memory: then another life starts. */
void join_ring_interrupt(struct join_ring *r);
/* Goes on with the life that the late files have interrupted. */
void join_ring_resume(struct join_ring *r);
/* The file of the oldest life that lacks one is read; false: none does. */
bool join_ring_take_unread(struct join_ring *r);
/* Marks the rings of a process as ended: its program has. */
void join_rings_end(struct join_rings *rs, const struct process *p);
/* Drops the rings of a process. */
void join_rings_forget(struct join_rings *rs, const struct process *p);

#endif
