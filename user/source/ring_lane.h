/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ring on its way to events: a backlog of words as they were taken, in segments between holes,
 * and a decoder behind it. Bounded: all that a lane takes comes out of a budget that it shares with
 * every other; a lane that can get no more leaves the ring alone, and one whose least is not there
 * is not made. An empty lane gives back what it has above the least.
 */
#ifndef SOURCE_RING_LANE_H
#define SOURCE_RING_LANE_H

#include "source/cursor.h"

#define RING_LANE_BATCH 64

/* Memory in bytes. Backlogs grow while `reserve` is left, which is kept for what is new. */
struct ring_budget {
	size_t left, reserve;
};

static inline bool ring_budget_take(struct ring_budget *b, size_t bytes)
{
	bool enough = b->left >= bytes;
	b->left -= enough ? bytes : 0;
	return enough;
}
static inline void ring_budget_give(struct ring_budget *b, size_t bytes)
{
	b->left += bytes;
}

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
	bool begun;	  /* its EBT_F_FIRST was given */
	struct ring_decoder decoder;
	/* words[head..len) is the backlog; cap grows while the budget lasts */
	uint64_t *words;
	size_t head, len, cap;
	struct ring_budget *budget;
	/* segments[seg_head..seg_len), oldest first */
	struct ring_segment *segments;
	uint32_t seg_head, seg_len, seg_cap;
	/* decoded, not yet read: events[next..count); their payloads lie in words from `base` */
	struct ebt_event events[RING_LANE_BATCH];
	uint32_t next, count;
	size_t base;
};

/* `budget` is kept. 0, -ENOSPC: the budget does not hold the least of a lane, or -ENOMEM. */
int ring_lane_new(const struct ebt_cursor *c, uint32_t domain, struct ring_budget *budget,
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
/* Done with that event. */
static inline void ring_lane_next(struct ring_lane *lane)
{
	lane->next++;
}

#endif
