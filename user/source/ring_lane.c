/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Words of the least backlog; a record cut by its end leaves room for a fetch. */
#define FIRST_CAP 8192
/* Holes that may wait: a hostile header can bring one at each look. */
#define MAX_SEGMENTS 4096
/* The least room that makes a fetch worth its two reads. */
#define LEAST_ROOM 1024
#define KEPT_CAP   65536 /* words that an empty lane keeps */

int ring_lane_new(const struct ebt_cursor *c, uint32_t domain, ptrdiff_t *budget,
		  struct ring_lane **ret)
{
	struct ring_lane *lane = calloc(1, sizeof(*lane));
	if (!lane)
		return -ENOMEM;
	cursor_decoder_init(c, domain, &lane->decoder);
	lane->domain = domain;
	lane->budget = budget;
	*ret = lane;
	return 0;
}

void ring_lane_free(struct ring_lane *lane)
{
	if (!lane)
		return;
	*lane->budget += (ptrdiff_t)lane->cap;
	free(lane->words);
	free(lane->segments);
	free(lane);
}

/* Changes the size of the backlog, if there is memory; the budget follows. */
static bool resize(struct ring_lane *lane, size_t cap)
{
	uint64_t *words = realloc(lane->words, cap * sizeof(*words));
	if (!words)
		return false; /* the ring keeps what it can */
	*lane->budget -= (ptrdiff_t)(cap - lane->cap);
	lane->words = words;
	lane->cap = cap;
	return true;
}

/* Makes room for `need` words behind len, if the budget allows; returns the room there is. */
static size_t make_room(struct ring_lane *lane, size_t need)
{
	/* Words from `base` on are needed while events decoded out of them are not delivered: of a
	 * live ring there nearly always are some. */
	size_t done = lane->next == lane->count ? lane->head : lane->base;
	if (done > lane->len / 2) {
		memmove(lane->words, lane->words + done, (lane->len - done) * sizeof(*lane->words));
		lane->len -= done;
		lane->head -= done;
		lane->base = 0;
	}
	if (!lane->cap && !resize(lane, FIRST_CAP))
		return 0;
	if (!lane->len && lane->cap > KEPT_CAP && need <= KEPT_CAP)
		resize(lane, KEPT_CAP);
	while (lane->cap - lane->len < need && *lane->budget >= (ptrdiff_t)lane->cap &&
	       resize(lane, 2 * lane->cap))
		;
	return lane->cap - lane->len;
}

static int add_segment(struct ring_lane *lane, const struct cursor_fetch *f)
{
	struct ring_segment *last =
		lane->seg_len > lane->seg_head ? &lane->segments[lane->seg_len - 1] : NULL;
	bool hole = f->lost || f->damage || f->restart;
	if (last && !hole && last->what.pos + last->what.words == f->pos &&
	    last->what.words + (uint64_t)f->words <= UINT32_MAX) {
		last->what.words += f->words;
		return 0;
	}
	/* The last segment of a live lane stays, so the places before it are used again. */
	if (lane->seg_head && lane->seg_len == lane->seg_cap &&
	    lane->seg_head >= lane->seg_cap / 2) {
		lane->seg_len -= lane->seg_head;
		memmove(lane->segments, lane->segments + lane->seg_head,
			lane->seg_len * sizeof(*lane->segments));
		lane->seg_head = 0;
	}
	if (lane->seg_len == lane->seg_cap) {
		uint32_t cap = lane->seg_cap ? 2 * lane->seg_cap : 8;
		struct ring_segment *segments =
			realloc(lane->segments, cap * sizeof(*lane->segments));
		if (!segments)
			return -ENOMEM;
		lane->segments = segments;
		lane->seg_cap = cap;
	}
	lane->segments[lane->seg_len++] = (struct ring_segment){.what = *f};
	return 0;
}

int ring_lane_take(struct ring_lane *lane, struct ebt_cursor *c, uint32_t domain)
{
	for (;;) {
		const struct cursor_ring *r = cursor_ring(c, domain);
		size_t need = r->tail - r->pos;
		bool flooded = lane->seg_len - lane->seg_head >= MAX_SEGMENTS;
		if ((!need && !r->notice) || flooded)
			return 0;
		size_t room = make_room(lane, need);
		if (room < need && room < LEAST_ROOM)
			return 0;
		struct cursor_fetch f;
		int got = cursor_fetch(c, domain, lane->words + lane->len, room, &f);
		if (got <= 0)
			return got;
		int err = add_segment(lane, &f);
		if (err)
			return err;
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
			.more = last && !ended,
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

void ring_lane_empty(struct ring_lane *lane)
{
	*lane->budget += (ptrdiff_t)lane->cap;
	free(lane->words);
	free(lane->segments);
	lane->words = NULL;
	lane->segments = NULL;
	lane->cap = lane->len = lane->head = lane->base = 0;
	lane->seg_head = lane->seg_len = lane->seg_cap = 0;
}
