/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of one ring on their way to events: a backlog of fetched words, in segments between
 * holes, and a decoder. Bounded: all memory of a lane is counted in a budget that all lanes share.
 * A lane that cannot grow leaves further words in the ring; a lane is not created when the budget
 * does not hold its least. Memory is allocated when there is something to be kept in it, and a lane
 * that needs little of what it has for some time returns the rest.
 */
#ifndef SOURCE_RING_LANE_H
#define SOURCE_RING_LANE_H

#include "source/ring/cursor.h"
#include "source/ring/owners.h"

#define RING_LANE_BATCH	     64
#define RING_LANE_STEP_WORDS 65536 /* as many as OCaml's and our default ring has */

/* Memory in bytes. Backlogs grow while `reserve` is left, which is kept for what is new. */
struct ring_budget {
	size_t left, reserve;
};

static inline bool ring_budget_reserve(struct ring_budget *b, size_t bytes)
{
	bool enough = b->left >= bytes;
	b->left -= enough ? bytes : 0;
	return enough;
}
static inline void ring_budget_release(struct ring_budget *b, size_t bytes)
{
	b->left += bytes;
}

struct ring_file;

struct ring_segment {
	/* What is missing before the segment, and its place; words: the number left. */
	struct cursor_fetch what;
	bool begun; /* the decoder knows the hole before it */
};

struct ring_lane {
	struct ring_file *file;
	uint32_t domain;
	uint64_t last_ns; /* of the last event that was read */
	bool begun;	  /* its EBT_F_FIRST was emitted; true if its events have no ordinals */
	bool has_owners;  /* events get their thread */
	bool in_run;	  /* the file was made while the run watched */
	struct ring_owners owners;
	struct ring_decoder decoder;
	int64_t clock_ahead_ns; /* of the times in the ring; events have the tracer's */
	/* words[head..len) is the backlog; there is memory for `room` words, and for up to `cap` it
	 * may be allocated: cap grows while the budget lasts */
	uint64_t *words;
	size_t head, len, room, cap;
	unsigned spacious; /* fetches in a row that needed little of `room` */
	struct ring_budget *budget;
	/* segments[seg_head..seg_len), oldest first */
	struct ring_segment *segments;
	uint32_t seg_head, seg_len, seg_cap;
	/* decoded, not yet read: events[next..count); their payloads are in words from `base` */
	struct ebt_event *events; /* event_cap of them, RING_LANE_BATCH at most; NULL: none yet */
	uint32_t next, count, event_cap;
	size_t base;
};

/* `budget` is kept. 0, -ENOSPC: the budget does not hold the least of a lane, or -ENOMEM. */
int ring_lane_new(const struct ebt_cursor *c, uint32_t domain, struct ring_budget *budget,
		  struct ring_lane **ret);
void ring_lane_free(struct ring_lane *lane);

/*
 * Fetches the words of the ring up to the cursor's last look, while there is room. 0 or -errno.
 * in_steps: about RING_LANE_STEP_WORDS at once, and none while half of them wait, so words stay in
 * the cache until they are decoded; for files at rest, when no live ring waits for this one.
 */
int ring_lane_fetch(struct ring_lane *lane, struct ebt_cursor *c, uint32_t domain, bool in_steps);
/* Puts an event of the caller's own before all others; only before the first read. 0, -ENOSPC or
 * -ENOMEM. */
int ring_lane_put_event(struct ring_lane *lane, struct ebt_event ev);

/*
 * Decodes the next events, at most `cap` and none later than `until_ns`, and returns their number.
 * 0: none now, and, unless ring_lane_holds(), none at all if `ended`: no more words will be
 * fetched. arg[0] of an event with EBT_F_PAYLOAD is a byte offset from *ret_payloads, which is
 * valid until the next call.
 */
uint32_t ring_lane_read(struct ring_lane *lane, bool ended, uint64_t until_ns, struct ebt_event *ev,
			size_t cap, const void **ret_payloads);
/* True if fetched words, or a hole between them, wait to be decoded. */
static inline bool ring_lane_has_words(const struct ring_lane *lane)
{
	return lane->seg_head < lane->seg_len;
}
/* True if all fetched words have been decoded. */
static inline bool ring_lane_is_drained(const struct ring_lane *lane)
{
	const struct ring_segment *last =
		ring_lane_has_words(lane) ? &lane->segments[lane->seg_head] : NULL;
	return !last || (lane->seg_head + 1 == lane->seg_len && last->begun && !last->what.words);
}
/* True if decoded events wait, because they are later than a read allowed. */
static inline bool ring_lane_holds(const struct ring_lane *lane)
{
	return lane->next < lane->count;
}

#endif
