/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lanes of many sources, each with a buffer of events that were read and wait to be merged, and
 * the horizon of those that will follow. A buffer shrinks as the number of buffers grows: all of
 * them together fit into a second-level cache.
 *
 * A lane without events sleeps, if its source reports when it has some (source.h): it has no
 * buffer, and costs nothing but its share in the horizon of all that sleep.
 */
#ifndef STREAM_LANES_H
#define STREAM_LANES_H

#include "stream/source.h"
#include <stdbool.h>

#define LANE_EVENTS_BITS 8
#define LANE_EVENTS_MAX	 (1u << LANE_EVENTS_BITS) /* in the buffer of one lane */
#define LANE_EVENTS_MIN	 16
#define LANES_BITS	 20
#define LANES_MAX	 (1u << LANES_BITS)

struct lane {
	struct ebt_event *events; /* allocated at the first event of the lane */
	uint32_t at, count, cap;  /* events[at..count-1] wait */
	uint64_t last_ts;	  /* the latest of them, no earlier than any event before them */
	bool in_order;		  /* the times of those that wait never go back */
	bool dry; /* its last read returned no event: it is read again after a poll */
	bool ended;
	bool begins_again : 1; /* once the waiting events are merged */
	bool asleep : 1;
	uint32_t asked;	  /* number of the poll before that read */
	uint64_t horizon; /* while dry: no older event will follow; UINT64_MAX: ended */
	struct source *source;
	uint32_t owner; /* its index among the sources */
	uint32_t number;
};

struct lane_source;
struct spare;

struct lanes {
	struct lane *lane;
	uint32_t *live;	 /* indices of the lanes that have not ended and do not sleep, ascending */
	uint32_t *woken; /* of those that the present poll has woken */
	uint32_t count, cap, live_count;
	uint32_t asleep;
	uint64_t horizon; /* the least of the lanes that sleep */
	struct lane_source *sources;
	uint32_t source_count;
	uint32_t buffers;     /* lanes that have one */
	size_t buffered;      /* events that all of them can hold */
	struct spare *spares; /* buffers of lanes that sleep */
	uint32_t spare_count;
	uint32_t polls;
	int error; /* the first of a source */
};

/* Zeroed memory is a set without lanes. */
void lanes_done(struct lanes *l);		  /* the sources are the caller's */
int lanes_add(struct lanes *l, struct source *s); /* 0 or -ENOMEM */
/* Polls every source, adds new lanes and those that begin again, and wakes those that have events.
 * 0 or -ENOMEM. */
int lanes_poll(struct lanes *l);
/*
 * Reads more events of the lanes that have few left, and drops those that have ended or sleep.
 * After a
 * read that returned no event a lane is read again once all its events are merged and a poll has
 * followed. Moves events inside their buffers. 0 or -ENOMEM.
 */
int lanes_refill(struct lanes *l);

static inline uint32_t lane_left(const struct lane *l)
{
	return l->count - l->at;
}

/* True if the lane may still bring an event of the same moment as its last one. */
static inline bool lane_is_open(const struct lane *l)
{
	return !l->dry || l->horizon <= l->last_ts;
}

#endif
