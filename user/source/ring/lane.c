/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/merge.h"

/* Words of the least backlog; a record cut by its end leaves room for a fetch. */
#define FIRST_CAP 2048
/* Holes that may wait: a hostile header can add one at each look. */
#define FIRST_SEGMENTS 8
#define MAX_SEGMENTS   4096
/* The least room that makes a fetch worth its two reads. */
#define LEAST_ROOM   1024
#define KEPT_CAP     RING_LANE_STEP_WORDS /* words that an empty lane keeps */
#define FIRST_EVENTS 16
#define LEAST_WORDS  256 /* that are allocated at once */
/* After this number of fetches that need a quarter of its memory at most, a lane gives back the
 * rest. */
#define SPACIOUS_MAX 16
/* Least memory of a lane, once it is used: here, and where its events are merged. */
#define LANE_BYTES                                                 \
	(sizeof(struct ring_lane) + FIRST_CAP * sizeof(uint64_t) + \
	 RING_LANE_BATCH * sizeof(struct ebt_event) +              \
	 FIRST_SEGMENTS * sizeof(struct ring_segment) + MERGE_LANE_BYTES)
_Static_assert(FIRST_CAP >= RING_MAX_RECORD_WORDS + LEAST_ROOM,
	       "a cut record must not fill a lane");

/* Memory for n decoded events. */
static bool has_events(struct ring_lane *lane, uint32_t n)
{
	if (n <= lane->event_cap)
		return true;
	struct ebt_event *events = realloc(lane->events, n * sizeof(*events));
	if (!events)
		return false;
	lane->events = events;
	lane->event_cap = n;
	return true;
}

int ring_lane_new(const struct ebt_cursor *c, uint32_t domain, struct ring_budget *budget,
		  struct ring_lane **ret)
{
	if (!ring_budget_reserve(budget, LANE_BYTES))
		return -ENOSPC;
	struct ring_lane *lane = calloc(1, sizeof(*lane));
	if (!lane) {
		ring_budget_release(budget, LANE_BYTES);
		return -ENOMEM;
	}
	lane->budget = budget;
	lane->cap = FIRST_CAP;
	lane->seg_cap = FIRST_SEGMENTS;
	lane->segments = malloc(lane->seg_cap * sizeof(*lane->segments));
	if (!lane->segments || !has_events(lane, FIRST_EVENTS)) {
		ring_lane_free(lane);
		return -ENOMEM;
	}
	cursor_decoder_init(c, domain, &lane->decoder);
	lane->begun = !lane->decoder.counted;
	lane->domain = domain;
	*ret = lane;
	return 0;
}

void ring_lane_free(struct ring_lane *lane)
{
	if (!lane)
		return;
	ring_budget_release(lane->budget,
			    LANE_BYTES + (lane->cap - FIRST_CAP) * sizeof(*lane->words) +
				    (lane->seg_cap - FIRST_SEGMENTS) * sizeof(*lane->segments));
	free(lane->words);
	free(lane->segments);
	free(lane->events);
	free(lane);
}

/* Takes more out of the budget, but not of the reserve for new lanes. */
static bool take_more(struct ring_lane *lane, size_t bytes)
{
	struct ring_budget *b = lane->budget;
	return b->left >= bytes + b->reserve && ring_budget_reserve(b, bytes);
}

/* Allocates memory for words, which hold the backlog. */
static bool allocate(struct ring_lane *lane, size_t room)
{
	uint64_t *words = realloc(lane->words, room * sizeof(*words));
	if (!words)
		return false;
	lane->words = words;
	lane->room = room;
	return true;
}

/* Changes how many words the backlog may have, if the budget allows. */
static bool resize(struct ring_lane *lane, size_t cap)
{
	size_t bytes = cap * sizeof(*lane->words), had = lane->cap * sizeof(*lane->words);
	if (bytes > had && !take_more(lane, bytes - had))
		return false;
	if (lane->room > cap && !allocate(lane, cap))
		return false;
	lane->cap = cap;
	if (bytes < had)
		ring_budget_release(lane->budget, had - bytes);
	return true;
}

/* The least power of two, up to `cap`, of words that hold so many. */
static size_t room_for(const struct ring_lane *lane, size_t words)
{
	size_t room = LEAST_WORDS;
	while (room < words)
		room *= 2;
	return room < lane->cap ? room : lane->cap;
}

/* Moves the words that are still needed to the front: from `base` on while events decoded from
 * there are not delivered; a live ring nearly always has some. */
static void compact(struct ring_lane *lane, size_t done)
{
	memmove(lane->words, lane->words + done, (lane->len - done) * sizeof(*lane->words));
	lane->len -= done;
	lane->head -= done;
	lane->base = 0;
}

/* Gives back memory of a lane that has needed little of it for some time. done: words at its front
 * that are not needed any more. */
static size_t give_back(struct ring_lane *lane, size_t need, size_t done)
{
	size_t words = lane->len - done + need, room = room_for(lane, 2 * words);
	lane->spacious = words <= lane->room / 4 ? lane->spacious + 1 : 0;
	if (lane->spacious < SPACIOUS_MAX || room >= lane->room)
		return done;
	lane->spacious = 0;
	if (done)
		compact(lane, done);
	if (allocate(lane, room) && lane->cap > FIRST_CAP)
		resize(lane, room > FIRST_CAP ? room : FIRST_CAP);
	return 0;
}

/* Makes room for `need` words behind len, if the budget allows; returns the room there is. */
static size_t make_room(struct ring_lane *lane, size_t need)
{
	size_t done = lane->next == lane->count ? lane->head : lane->base;
	done = give_back(lane, need, done);
	if (done > lane->len / 2) {
		compact(lane, done);
		done = 0;
	}
	if (!lane->len && lane->cap > KEPT_CAP && need <= KEPT_CAP)
		resize(lane, KEPT_CAP);
	while (lane->cap - lane->len < need && resize(lane, 2 * lane->cap))
		;
	/* In a larger lane half of the words are done at some time, and moving them costs more. */
	if (lane->cap == FIRST_CAP && lane->cap - lane->len < LEAST_ROOM && done)
		compact(lane, done);
	return lane->cap - lane->len;
}

/* True if one more segment fits, after growing if need be. */
static bool has_segment(struct ring_lane *lane)
{
	if (lane->seg_len < lane->seg_cap)
		return true;
	/* The last segment of a live lane stays, so the slots before it are reused. */
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
		ring_budget_release(lane->budget, more);
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

int ring_lane_fetch(struct ring_lane *lane, struct ebt_cursor *c, uint32_t domain, bool in_steps)
{
	for (;;) {
		const struct cursor_ring *r = cursor_ring(c, domain);
		size_t need = r->tail - r->pos;
		if (in_steps && lane->len - lane->head > RING_LANE_STEP_WORDS / 2)
			return 0;
		if (in_steps && need > RING_LANE_STEP_WORDS)
			need = RING_LANE_STEP_WORDS;
		if ((!need && !r->notice) || !has_segment(lane))
			return 0;
		size_t room = make_room(lane, need);
		if (room < need && room < LEAST_ROOM)
			return 0;
		size_t words = lane->len + (need < room ? need : room);
		if (words > lane->room && !allocate(lane, room_for(lane, words)))
			return 0;
		if (room > lane->room - lane->len)
			room = lane->room - lane->len;
		struct cursor_fetch f;
		int got = cursor_fetch(c, domain, lane->words + lane->len, room, &f);
		if (got <= 0)
			return got;
		add_segment(lane, &f);
		lane->len += f.words;
	}
}

int ring_lane_put_event(struct ring_lane *lane, struct ebt_event ev)
{
	if (lane->count == RING_LANE_BATCH)
		return -ENOSPC;
	if (!has_events(lane, lane->count + 1))
		return -ENOMEM;
	lane->events[lane->count++] = ev;
	return 0;
}

/* Reports to the decoder what is missing before a segment. */
static void begin_segment(struct ring_lane *lane, struct ring_segment *seg)
{
	const struct cursor_fetch *f = &seg->what;
	seg->begun = true;
	if (f->restart)
		ring_decoder_restart(&lane->decoder);
	if (f->lost)
		ring_decoder_gap(&lane->decoder, f->lost, f->history && !lane->in_run);
	if (f->damage)
		ring_decoder_damage(&lane->decoder, f->damage_offset, f->damage_words,
				    f->damage_pos);
}

/* A time of the ring by the tracer's clock; 0, which is no time, stays. */
static uint64_t by_our_clock(uint64_t ns, int64_t ahead_ns)
{
	uint64_t ours = ns - (uint64_t)ahead_ns;
	if (!ns)
		return 0;
	if (ahead_ns > 0)
		return ours < ns ? ours : 1;
	return ours > ns ? ours : UINT64_MAX;
}

static void convert_times(const struct ring_lane *lane, struct ebt_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ev[i].ts = by_our_clock(ev[i].ts, lane->clock_ahead_ns);
		if (ev[i].kind == EBT_LOST)
			EBT_LOST_SINCE(&ev[i]) =
				by_our_clock(EBT_LOST_SINCE(&ev[i]), lane->clock_ahead_ns);
	}
}

/* Decodes up to `cap` events out of the oldest segment that has any. 0: none now. */
static uint32_t decode_batch(struct ring_lane *lane, bool ended, struct ebt_event *ev, size_t cap)
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
		lane->base = lane->head;
		size_t n = ring_decode(&lane->decoder, &batch, ev, cap, &used);
		lane->head += used;
		seg->what.pos += used;
		seg->what.words -= (uint32_t)used;
		if (lane->clock_ahead_ns)
			convert_times(lane, ev, n);
		if (n)
			return (uint32_t)n;
		if (last && !ended)
			return 0;
		/* A record cut by a hole is part of the hole. */
		if (seg->what.words)
			ring_decoder_gap(&lane->decoder, seg->what.words, false);
		lane->head += seg->what.words;
		lane->seg_head++;
	}
	return 0;
}

/* The number of events no later than `until_ns`. Their times never go back. */
static uint32_t count_until(const struct ebt_event *ev, uint32_t n, uint64_t until_ns)
{
	while (n && ev[n - 1].ts > until_ns)
		n--;
	return n;
}

uint32_t ring_lane_read(struct ring_lane *lane, bool ended, uint64_t until_ns, struct ebt_event *ev,
			size_t cap, const void **ret_payloads)
{
	uint32_t n;
	/* Of a ring at rest no event is too late to be returned. */
	if (until_ns != UINT64_MAX && cap > RING_LANE_BATCH)
		cap = RING_LANE_BATCH;
	if (lane->next < lane->count) {
		uint32_t left = lane->count - lane->next;
		n = count_until(lane->events + lane->next, left < cap ? left : (uint32_t)cap,
				until_ns);
		memcpy(ev, lane->events + lane->next, n * sizeof(*ev));
		lane->next += n;
	} else {
		if (until_ns != UINT64_MAX && !has_events(lane, (uint32_t)cap))
			cap = lane->event_cap;
		uint32_t decoded = decode_batch(lane, ended, ev, cap);
		n = count_until(ev, decoded, until_ns);
		lane->next = 0;
		lane->count = decoded - n;
		if (lane->count)
			memcpy(lane->events, ev + n, lane->count * sizeof(*ev));
	}
	*ret_payloads = lane->words + lane->base;
	return n;
}
