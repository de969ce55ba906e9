/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/merge.h"

/* Words of the least backlog; a record cut by its end leaves room for a fetch. */
#define FIRST_CAP 2048
/* Holes that may wait: a hostile header can bring one at each look. */
#define FIRST_SEGMENTS 8
#define MAX_SEGMENTS   4096
/* The least room that makes a fetch worth its two reads. */
#define LEAST_ROOM 1024
#define KEPT_CAP   65536 /* words that an empty lane keeps */
/* What a lane costs at least: here, and where its events are merged. */
#define LANE_BYTES                                                 \
	(sizeof(struct ring_lane) + FIRST_CAP * sizeof(uint64_t) + \
	 FIRST_SEGMENTS * sizeof(struct ring_segment) + MERGE_LANE_BYTES)
_Static_assert(FIRST_CAP >= RING_MAX_RECORD_WORDS + LEAST_ROOM,
	       "a cut record must not fill a lane");

int ring_lane_new(const struct ebt_cursor *c, uint32_t domain, struct ring_budget *budget,
		  struct ring_lane **ret)
{
	if (!ring_budget_take(budget, LANE_BYTES))
		return -ENOSPC;
	struct ring_lane *lane = calloc(1, sizeof(*lane));
	if (!lane) {
		ring_budget_give(budget, LANE_BYTES);
		return -ENOMEM;
	}
	lane->budget = budget;
	lane->cap = FIRST_CAP;
	lane->seg_cap = FIRST_SEGMENTS;
	lane->words = malloc(lane->cap * sizeof(*lane->words));
	lane->segments = malloc(lane->seg_cap * sizeof(*lane->segments));
	if (!lane->words || !lane->segments) {
		ring_lane_free(lane);
		return -ENOMEM;
	}
	cursor_decoder_init(c, domain, &lane->decoder);
	lane->domain = domain;
	*ret = lane;
	return 0;
}

void ring_lane_free(struct ring_lane *lane)
{
	if (!lane)
		return;
	ring_budget_give(lane->budget,
			 LANE_BYTES + (lane->cap - FIRST_CAP) * sizeof(*lane->words) +
				 (lane->seg_cap - FIRST_SEGMENTS) * sizeof(*lane->segments));
	free(lane->words);
	free(lane->segments);
	free(lane);
}

/* Takes more out of the budget, but not of what is kept for new lanes. */
static bool take_more(struct ring_lane *lane, size_t bytes)
{
	struct ring_budget *b = lane->budget;
	return b->left >= bytes + b->reserve && ring_budget_take(b, bytes);
}

/* Changes the size of the backlog, if there is memory; the budget follows. */
static bool resize(struct ring_lane *lane, size_t cap)
{
	size_t bytes = cap * sizeof(*lane->words), had = lane->cap * sizeof(*lane->words);
	if (bytes > had && !take_more(lane, bytes - had))
		return false;
	uint64_t *words = realloc(lane->words, bytes);
	if (words) {
		lane->words = words;
		lane->cap = cap;
	}
	/* What was not to be had, and what is not needed any more. */
	if (!words && bytes > had)
		ring_budget_give(lane->budget, bytes - had);
	else if (words && bytes < had)
		ring_budget_give(lane->budget, had - bytes);
	return words;
}

/* Moves what is still needed to the front: words from `base` on, while events decoded out of them
 * are not delivered; of a live ring there nearly always are some. */
static void compact(struct ring_lane *lane, size_t done)
{
	memmove(lane->words, lane->words + done, (lane->len - done) * sizeof(*lane->words));
	lane->len -= done;
	lane->head -= done;
	lane->base = 0;
}

/* Makes room for `need` words behind len, if the budget allows; returns the room there is. */
static size_t make_room(struct ring_lane *lane, size_t need)
{
	size_t done = lane->next == lane->count ? lane->head : lane->base;
	if (done > lane->len / 2) {
		compact(lane, done);
		done = 0;
	}
	if (!lane->len && lane->cap > KEPT_CAP && need <= KEPT_CAP)
		resize(lane, KEPT_CAP);
	while (lane->cap - lane->len < need && resize(lane, 2 * lane->cap))
		;
	/* In a larger lane half of the words are done sooner or later, and moving them costs more. */
	if (lane->cap == FIRST_CAP && lane->cap - lane->len < LEAST_ROOM && done)
		compact(lane, done);
	return lane->cap - lane->len;
}

/* True if there is, or can be made, a place for one more segment. */
static bool has_segment(struct ring_lane *lane)
{
	if (lane->seg_len < lane->seg_cap)
		return true;
	/* The last segment of a live lane stays, so the places before it are used again. */
	if (lane->seg_head >= lane->seg_cap / 2) {
		lane->seg_len -= lane->seg_head;
		memmove(lane->segments, lane->segments + lane->seg_head,
			lane->seg_len * sizeof(*lane->segments));
		lane->seg_head = 0;
		return true;
	}
	size_t more = lane->seg_cap * sizeof(*lane->segments);
	if (lane->seg_cap >= MAX_SEGMENTS || !take_more(lane, more))
		return false;
	struct ring_segment *segments = realloc(lane->segments, 2 * more);
	if (!segments) {
		ring_budget_give(lane->budget, more);
		return false;
	}
	lane->segments = segments;
	lane->seg_cap *= 2;
	return true;
}

static void add_segment(struct ring_lane *lane, const struct cursor_fetch *f)
{
	struct ring_segment *last =
		lane->seg_len > lane->seg_head ? &lane->segments[lane->seg_len - 1] : NULL;
	bool hole = f->lost || f->damage || f->restart;
	if (last && !hole && last->what.pos + last->what.words == f->pos &&
	    last->what.words + (uint64_t)f->words <= UINT32_MAX) {
		last->what.words += f->words;
		return;
	}
	lane->segments[lane->seg_len++] = (struct ring_segment){.what = *f};
}

int ring_lane_take(struct ring_lane *lane, struct ebt_cursor *c, uint32_t domain)
{
	for (;;) {
		const struct cursor_ring *r = cursor_ring(c, domain);
		size_t need = r->tail - r->pos;
		if ((!need && !r->notice) || !has_segment(lane))
			return 0;
		size_t room = make_room(lane, need);
		if (room < need && room < LEAST_ROOM)
			return 0;
		struct cursor_fetch f;
		int got = cursor_fetch(c, domain, lane->words + lane->len, room, &f);
		if (got <= 0)
			return got;
		add_segment(lane, &f);
		lane->len += f.words;
	}
}

int ring_lane_tell(struct ring_lane *lane, struct ebt_event ev)
{
	if (lane->count == RING_LANE_BATCH)
		return -ENOSPC;
	lane->events[lane->count++] = ev;
	return 0;
}

/* Gives the decoder what is missing before a segment, with what the one before left over. */
static void begin_segment(struct ring_lane *lane, struct ring_segment *seg)
{
	const struct cursor_fetch *f = &seg->what;
	seg->begun = true;
	if (f->restart)
		ring_decoder_restart(&lane->decoder);
	if (f->lost)
		ring_decoder_gap(&lane->decoder, f->lost, f->history);
	if (f->damage)
		ring_decoder_damage(&lane->decoder, f->damage_offset, f->damage_words,
				    f->damage_pos);
}

/* Decodes the next batch out of the oldest segment. False: nothing more to decode now. */
static bool decode_batch(struct ring_lane *lane, bool ended)
{
	while (lane->seg_head < lane->seg_len) {
		struct ring_segment *seg = &lane->segments[lane->seg_head];
		bool last = lane->seg_head + 1 == lane->seg_len;
		if (!seg->begun)
			begin_segment(lane, seg);
		struct ring_batch batch = {
			.words = lane->words + lane->head,
			.n = seg->what.words,
			.pos = seg->what.pos,
			.more = !last || !ended, /* a cut record is part of the hole behind it */
		};
		size_t used;
		lane->next = 0;
		lane->base = lane->head;
		lane->count = (uint32_t)ring_decode(&lane->decoder, &batch, lane->events,
						    RING_LANE_BATCH, &used);
		lane->head += used;
		seg->what.pos += used;
		seg->what.words -= (uint32_t)used;
		if (lane->count)
			return true;
		if (last && !ended)
			return false;
		/* A record cut by a hole is part of the hole. */
		if (seg->what.words)
			ring_decoder_gap(&lane->decoder, seg->what.words, false);
		lane->head += seg->what.words;
		lane->seg_head++;
	}
	return false;
}

const struct ebt_event *ring_lane_peek(struct ring_lane *lane, bool ended, const void **ret_payload)
{
	if (lane->next == lane->count) {
		lane->next = lane->count = 0;
		if (!decode_batch(lane, ended))
			return NULL;
	}
	const struct ebt_event *ev = &lane->events[lane->next];
	*ret_payload = ev->flags & EBT_F_PAYLOAD
			       ? (const char *)(lane->words + lane->base) + ev->arg[0]
			       : NULL;
	return ev;
}
