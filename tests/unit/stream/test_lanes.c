/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of lanes, in tables. Random sources: their lanes sleep, wake, end and begin again. A
 * model knows what each lane was asked for, and what it has returned.
 */
#include "stream/lanes.h"

#include <errno.h>
#include <stdio.h>

#include "tests/tap.h"

#define MANY	96
#define SOURCES 3
#define ROUNDS	TAP_ROUNDS(4000)

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* A lane has `left` events; the next one has the number `next`, which is its position. */
struct made_lane {
	uint32_t left, next, reads;
	uint64_t ts;
	bool ended, wakes, begins_again, goes_back;
	uint64_t horizon;
	/* What the model knows of the lane's buffer. */
	uint32_t taken;
	uint64_t latest;
	bool in_order;
};

struct made {
	struct source base;
	struct made_lane *lane;
	uint64_t asleep_horizon;
	uint32_t odd_wake; /* reported besides, if not 0 */
	int fails;
	bool stopped, odd_again;
};

static int made_poll(struct source *s)
{
	return ((struct made *)s)->fails;
}

static bool made_wakes(struct source *s, uint32_t *ret)
{
	struct made *m = (struct made *)s;
	if (m->odd_wake) {
		*ret = m->odd_wake;
		m->odd_wake = 0;
		return true;
	}
	for (uint32_t i = s->lanes; i-- > 0;) /* the last first */
		if (m->lane[i].wakes) {
			m->lane[i].wakes = false;
			*ret = i;
			return true;
		}
	return false;
}

static bool made_again(struct source *s, uint32_t *ret)
{
	struct made *m = (struct made *)s;
	if (m->odd_again) {
		m->odd_again = false;
		*ret = s->lanes;
		return true;
	}
	for (uint32_t i = 0; i < s->lanes; i++)
		if (m->lane[i].begins_again) {
			m->lane[i].begins_again = false;
			*ret = i;
			return true;
		}
	return false;
}

static int made_read(struct source *s, uint32_t number, struct ebt_event *ev, size_t cap)
{
	struct made_lane *l = &((struct made *)s)->lane[number];
	uint32_t n = 0;
	l->reads++;
	for (; n < cap && l->left; n++, l->left--) {
		l->ts = l->goes_back && !any(40) ? l->ts - any(3) : l->ts + any(2);
		ev[n] = (struct ebt_event){
			.ts = l->ts, .pos = l->next++, .domain = (uint16_t)number};
		if (!l->taken)
			l->in_order = true;
		l->in_order &= !l->taken || l->latest <= l->ts;
		l->latest = !l->taken || l->ts > l->latest ? l->ts : l->latest;
		l->taken++;
	}
	return n ? (int)n : l->ended ? 0 : -EAGAIN;
}

static uint64_t made_horizon(struct source *s, uint32_t number)
{
	struct made *m = (struct made *)s;
	return number == SOURCE_ASLEEP ? m->asleep_horizon : m->lane[number].horizon;
}

static int made_stop(struct source *s)
{
	struct made *m = (struct made *)s;
	m->stopped = true;
	for (uint32_t i = 0; i < s->lanes; i++)
		m->lane[i].ended = true;
	return 0;
}

static const struct source_ops sleeping = {.poll = made_poll,
					   .wakes = made_wakes,
					   .begins_again = made_again,
					   .read = made_read,
					   .horizon = made_horizon,
					   .stop = made_stop};
static const struct source_ops awake = {.poll = made_poll,
					.begins_again = made_again,
					.read = made_read,
					.horizon = made_horizon,
					.stop = made_stop};

static struct made_lane lanes_of[SOURCES][MANY];

static struct made make(uint32_t source, const struct source_ops *ops, uint32_t lanes)
{
	memset(lanes_of[source], 0, sizeof(lanes_of[source]));
	return (struct made){.base = {.ops = ops, .lanes = lanes}, .lane = lanes_of[source]};
}

static void round_of(struct lanes *l)
{
	if (lanes_poll(l) || lanes_refill(l))
		ok(0, "there is memory");
}

/* Takes n events of a lane. False: another was to come. */
static bool take(struct made_lane *m, struct lane *lane, uint32_t n)
{
	bool good = true;
	for (; n; n--, lane->at++)
		good &= lane->events[lane->at].pos == m->next - lane_left(lane);
	if (!lane_left(lane))
		m->taken = 0;
	return good;
}

static void take_all(struct lanes *l, struct made *m)
{
	for (uint32_t i = 0; i < l->count; i++)
		take(&m->lane[i], &l->lane[i], lane_left(&l->lane[i]));
}

/* ---- what holds after every round ---- */

static bool buffers_add_up(const struct lanes *l)
{
	uint32_t buffers = 0, spares = 0, asleep = 0;
	size_t buffered = 0;
	for (uint32_t i = 0; i < l->count; i++) {
		buffers += l->lane[i].events != NULL;
		buffered += l->lane[i].cap;
		asleep += l->lane[i].asleep;
		if (!l->lane[i].events != !l->lane[i].cap)
			return false;
	}
	for (void *const *s = (void *)l->spares; s; s = *s) /* a spare's first word is the next */
		spares++;
	return buffers == l->buffers && buffered == l->buffered && spares == l->spare_count &&
	       asleep == l->asleep;
}

static bool live_are_right(const struct lanes *l)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < l->count; i++) {
		bool is_live = !l->lane[i].asleep && (!l->lane[i].ended || lane_left(&l->lane[i]));
		if (is_live != (at < l->live_count && l->live[at] == i))
			return false;
		at += is_live;
	}
	return at == l->live_count;
}

static bool horizon_is_right(const struct lanes *l, const struct made *m)
{
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < l->count; i++)
		for (uint32_t k = 0; k < SOURCES && l->lane[i].asleep; k++)
			if (l->lane[i].source == &m[k].base && m[k].asleep_horizon < least)
				least = m[k].asleep_horizon;
	return l->horizon == least;
}

/* Of one lane: its events are those that were read, and it is awake if it must be. */
static bool lane_is_right(const struct lanes *l, const struct lane *lane, const struct made *s)
{
	const struct made_lane *m = &s->lane[lane->number];
	uint32_t left = lane_left(lane);
	if (left && (lane->last_ts != m->latest || lane->in_order != m->in_order))
		return false;
	for (uint32_t i = 0; i < left; i++)
		if (lane->events[lane->at + i].pos != m->next - left + i ||
		    lane->events[lane->at + i].domain != lane->number)
			return false;
	bool fell = lane->asleep && lane->asked == l->polls;
	if (lane->asleep && (left || lane->events || s->base.ops == &awake || s->fails ||
			     (fell && lane->horizon < s->asleep_horizon)))
		return false;
	/* One that was read in this round, has nothing, and need not be read again, sleeps. */
	bool may = !left && !lane->ended && lane->dry && lane->asked == l->polls;
	return !may || lane->asleep || s->base.ops == &awake || lane->horizon < s->asleep_horizon;
}

/* ---- random rounds ---- */

static void stir(struct made *s, uint64_t now)
{
	s->asleep_horizon = now + any(5);
	s->odd_wake = any(30) ? 0 : s->base.lanes + any(3);
	s->odd_again = !any(30);
	for (uint32_t i = 0; i < s->base.lanes; i++) {
		struct made_lane *m = &s->lane[i];
		m->horizon = any(6) ? now + 5 : now;
		if (m->ended && !s->fails && !any(20))
			m->ended = false, m->begins_again = true, m->wakes = true;
		if (!m->ended && !any(4))
			m->left += any(any(9) ? 40 : 700), m->wakes = true;
		if (!m->ended && !any(60))
			m->ended = m->wakes = true;
	}
	if (!s->fails && s->base.lanes < MANY && !any(15))
		s->base.lanes++;
}

struct seen {
	bool buffers, live, horizon, lanes, order, memory;
};

static void go(struct lanes *l, struct made *s, uint64_t now, struct seen *ret)
{
	for (uint32_t k = 0; k < SOURCES; k++)
		stir(&s[k], now);
	ret->memory &= !lanes_poll(l) && !lanes_refill(l);
	ret->buffers &= buffers_add_up(l);
	ret->live &= live_are_right(l);
	ret->horizon &= horizon_is_right(l, s);
	for (uint32_t i = 0; i < l->count; i++)
		ret->lanes &= lane_is_right(l, &l->lane[i], &s[l->lane[i].owner]);
	for (uint32_t i = 0; i < l->live_count; i++) {
		struct lane *lane = &l->lane[l->live[i]];
		uint32_t left = lane_left(lane);
		uint32_t n = any(3) ? left : left ? any(left) : 0;
		ret->order &= take(&s[lane->owner].lane[lane->number], lane, n);
	}
}

static void test_model(void)
{
	struct lanes l = {0};
	struct made s[SOURCES];
	struct seen seen = {true, true, true, true, true, true};
	bool all_read = true;
	seed = 7;
	for (uint32_t k = 0; k < SOURCES; k++) {
		s[k] = make(k, k == 1 ? &awake : &sleeping, 1 + any(20));
		for (uint32_t i = 0; i < MANY; i++)
			lanes_of[k][i].goes_back = any(2);
		seen.memory &= !lanes_add(&l, &s[k].base);
	}
	for (uint32_t n = 0; n < ROUNDS; n++) {
		if (n == ROUNDS - 200)
			s[2].fails = -EIO;
		if (n == ROUNDS - 100)
			s[0].fails = -ENODEV;
		go(&l, s, n * 3u, &seen);
	}
	for (uint32_t k = 0; k < SOURCES; k++)
		made_stop(&s[k].base);
	for (uint32_t n = 0; n < 2000 && (n < 3 || l.live_count); n++) {
		for (uint32_t k = 0; k < SOURCES; k++)
			for (uint32_t i = 0; i < s[k].base.lanes; i++)
				s[k].lane[i].wakes = true;
		round_of(&l);
		for (uint32_t i = 0; i < l.live_count; i++) {
			struct lane *lane = &l.lane[l.live[i]];
			seen.order &=
				take(&s[lane->owner].lane[lane->number], lane, lane_left(lane));
		}
	}
	for (uint32_t k = 0; k < SOURCES; k++)
		for (uint32_t i = 0; i < s[k].base.lanes; i++)
			all_read &= !s[k].lane[i].left;
	ok(seen.memory, "there is memory");
	ok(seen.buffers, "the numbers of buffers, of spares and of sleepers are those there are");
	ok(seen.live, "live are the lanes that neither sleep nor have ended, ascending");
	ok(seen.horizon, "the horizon is the least of the sources with lanes that sleep");
	ok(seen.lanes, "a lane has the events that were read, and sleeps if it may");
	ok(seen.order, "each event comes once, in its order");
	ok(all_read && !l.live_count, "what has ended has no event left");
	is(l.error, -EIO, "the error is that of the source that failed first");
	ok(s[2].stopped && s[0].stopped, "which was stopped, as the next one was");
	is(l.buffers + l.buffered, 0, "all buffers were given back");
	lanes_done(&l);
}

/* ---- limits ---- */

static void test_sizes(void)
{
	static const struct {
		uint32_t lane, cap;
	} t[] = {{0, 256}, {32, 256}, {33, 128}, {64, 128}, {65, 64}, {95, 64}};
	struct made s = make(0, &sleeping, MANY);
	struct lanes l = {0};
	for (uint32_t i = 0; i < MANY; i++)
		s.lane[i].left = 16;
	lanes_add(&l, &s.base);
	round_of(&l);
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		ok(l.lane[t[i].lane].cap == t[i].cap, "the buffer of lane %u has %u events",
		   t[i].lane, t[i].cap);
	/* 96 buffers: each has 64 from now on. */
	take_all(&l, &s);
	for (uint32_t i = 0; i < MANY; i++)
		s.lane[i].left = 1;
	round_of(&l);
	is(l.buffered, 96 * 64, "a buffer that is empty gets the size of those times");
	lanes_done(&l);
}

/* The lane merges its event, and falls asleep. */
static void sleep_one(struct lanes *l, struct made *s, uint32_t i)
{
	take(&s->lane[i], &l->lane[i], lane_left(&l->lane[i]));
	round_of(l);
}

/* The last lane sleeps first: but for lanes 64 and 32, each has the size of that moment. */
static void check_spares(uint32_t n, uint32_t kept, uint32_t large, uint32_t woken)
{
	struct made s = make(0, &sleeping, n);
	struct lanes l = {0};
	lanes_add(&l, &s.base);
	for (uint32_t i = 0; i < n; i++)
		s.lane[i].left = 1;
	round_of(&l);
	const void *first = l.lane[32 - large].events;
	for (uint32_t i = n; i-- > 0;)
		sleep_one(&l, &s, i);
	ok(l.asleep == n && l.spare_count == kept && !l.buffers && !l.buffered,
	   "of the buffers of %u lanes that sleep %u are kept", n, kept);
	for (uint32_t i = 3; i < 3 + woken; i++)
		s.lane[i].left = s.lane[i].wakes = 1;
	round_of(&l);
	ok(l.spare_count == (woken <= large ? kept - woken : 0) && l.buffers == woken,
	   "%u lanes that wake get those of their size, behind which smaller ones are freed",
	   woken);
	ok(l.lane[3].events == first, "the last one first");
	lanes_done(&l);
}

static void test_spares(void)
{
	for (uint32_t woken = 31; woken <= 33; woken++) {
		check_spares(65, 63, 32, woken);
		check_spares(66, 64, 32, woken);
		check_spares(67, 64, 31, woken);
	}
}

static void test_when_read(void)
{
	for (uint32_t left = 63; left <= 65; left++) {
		struct made s = make(0, &awake, 1);
		struct lanes l = {0};
		lanes_add(&l, &s.base);
		s.lane[0].left = 5000;
		round_of(&l);
		is(lane_left(&l.lane[0]), 16, "the first read is of few events");
		round_of(&l);
		is(lane_left(&l.lane[0]), 256, "the next fills the buffer");
		take(&s.lane[0], &l.lane[0], 256 - left);
		uint32_t reads = s.lane[0].reads;
		lanes_refill(&l);
		ok(s.lane[0].reads == reads + (left <= 64), "with %u events left it is%s read",
		   left, left <= 64 ? "" : " not");
		lanes_done(&l);
	}
}

/* A dry lane: read after a poll, and once its events are merged. */
static void test_dry(void)
{
	struct made s = make(0, &awake, 1);
	struct lanes l = {0};
	lanes_add(&l, &s.base);
	s.lane[0].left = 2;
	round_of(&l);
	lanes_refill(&l);
	is(s.lane[0].reads, 2, "few events are left: it is read, and is dry");
	round_of(&l);
	is(s.lane[0].reads, 2, "a dry lane with events is not read");
	take(&s.lane[0], &l.lane[0], 2);
	lanes_refill(&l);
	lanes_refill(&l);
	is(s.lane[0].reads, 3, "without events it is, once after a poll");
	lanes_done(&l);
}

/* Of an ended lane that has events, they come first. */
static void test_begins_again(void)
{
	struct made s = make(0, &awake, 2);
	struct lanes l = {0};
	lanes_add(&l, &s.base);
	s.lane[0].left = 2;
	s.lane[0].ended = s.lane[1].ended = true;
	round_of(&l);
	lanes_refill(&l);
	ok(l.lane[0].ended && l.lane[1].ended && l.live_count == 1, "one lane waits, one is gone");
	s.lane[0].begins_again = s.lane[1].begins_again = true;
	s.lane[0].ended = s.lane[1].ended = false;
	s.lane[0].horizon = s.lane[1].horizon = 9;
	round_of(&l);
	ok(l.lane[0].ended && l.lane[0].horizon == UINT64_MAX && lane_left(&l.lane[0]) == 2,
	   "the first still has its events");
	ok(!l.lane[1].ended && !l.lane[1].horizon && l.live_count == 2, "the second begins again");
	take(&s.lane[0], &l.lane[0], 2);
	lanes_refill(&l);
	ok(!l.lane[0].ended && !l.lane[0].horizon && l.lane[1].horizon == 9,
	   "then the first does, with no horizon before it is read");
	s.lane[1].left = 1;
	s.lane[1].begins_again = true; /* of a lane that has not ended: no matter */
	round_of(&l);
	ok(l.live_count == 2 && l.lane[0].horizon == 9 && lane_left(&l.lane[1]) == 1,
	   "both are read after the next poll");
	lanes_done(&l);
}

int main(void)
{
	test_model();
	test_sizes();
	test_spares();
	test_when_read();
	test_dry();
	test_begins_again();
	return tap_done();
}
