/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ring on its way to events: a backlog of words as they were taken, in segments between holes,
 * and a decoder behind it. Bounded: lanes share a budget of words, and a lane that can get no more
 * leaves the ring alone. An empty lane gives back what it has above the least.
 */
#ifndef SOURCE_RING_LANE_H
#define SOURCE_RING_LANE_H

#include "source/cursor.h"

#define RING_LANE_BATCH 256

struct ring_file;

struct ring_segment {
	struct cursor_fetch
		what; /* what is missing before it, and its place; words: what is left */
	bool begun;   /* the hole before it has been given to the decoder */
};

struct ring_lane {
	struct ring_file *file;
	uint32_t domain;
	uint64_t last_ns; /* of the last event that was read */
	struct ring_decoder decoder;
	/* words[head..len) is the backlog; cap grows while the budget lasts */
	uint64_t *words;
	size_t head, len, cap;
	ptrdiff_t *
		budget; /* words that may still be had, of all lanes; may be overdrawn by the least */
	/* segments[seg_head..seg_len), oldest first */
	struct ring_segment *segments;
	uint32_t seg_head, seg_len, seg_cap;
	/* decoded, not yet read: events[next..count); their payloads lie in words from `base` */
	struct ebt_event events[RING_LANE_BATCH];
	uint32_t next, count;
	size_t base;
};

/* `budget` is kept, and goes down by what the lane takes beyond the least. 0 or -ENOMEM. */
int ring_lane_new(const struct ebt_cursor *c, uint32_t domain, ptrdiff_t *budget,
		  struct ring_lane **ret);
void ring_lane_free(struct ring_lane *lane);

/* Fetches what the ring holds up to the cursor's last look, while there is room. 0 or -errno. */
int ring_lane_take(struct ring_lane *lane, struct ebt_cursor *c, uint32_t domain);
/* Puts an event of the caller's own before everything else; only before the first peek. */
int ring_lane_tell(struct ring_lane *lane, struct ebt_event ev);

/*
 * The next event, or NULL if there is none now; its payload, where it has one, in *ret_payload.
 * Both are valid until the next call. ended: no more words will be taken.
 */
const struct ebt_event *ring_lane_peek(struct ring_lane *lane, bool ended,
				       const void **ret_payload);
/* Gives back the memory of a lane that will bring nothing more. */
void ring_lane_empty(struct ring_lane *lane);
/* Done with that event. */
static inline void ring_lane_next(struct ring_lane *lane)
{
	lane->next++;
}

#endif
