/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/merge.h"

#include "core/kinds.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/radix.h"
#include "core/lanes.h"

/* A key of the sort: the time since the first event of the window, the item. */
#define ITEM_BITS      24
#define ITEM_MASK      ((1u << ITEM_BITS) - 1)
#define WINDOW_NS_BITS (64 - ITEM_BITS)
_Static_assert((uint64_t)LANES_MAX *LANE_EVENTS_MIN <= ITEM_MASK + 1, "an item fits into a key");

/* An event of the window. */
struct item {
	struct ebt_event *ev;
	uint32_t lane;
};

/* Items of one moment and one lane that are to be merged, as indices into the sorted keys. */
struct run {
	uint32_t next, end;
};

struct merge {
	const struct processes *processes;
	struct lanes lanes;
	uint64_t held;	  /* least horizon of the lanes that wait; UINT64_MAX: none waits */
	uint64_t last_ts; /* of what was passed on */
	/* The window: events from begin_ts to end_ts, which are passed on in order. */
	uint64_t begin_ts, end_ts;
	bool end_is_open;  /* lanes may have more of its last moment */
	struct lane *only; /* all are of this lane, in its buffer; NULL: items in `order` */
	uint32_t next, count;
	struct item *items;
	uint64_t *keys, *spare; /* time since begin_ts << ITEM_BITS | item */
	size_t room;		/* of each of the three */
	uint64_t *order;	/* one of the two */
	struct run *runs;
	uint32_t run_cap; /* at least as many as there are lanes */
	struct ebt_event batch[BATCH_EVENTS];
};

int merge_new(const struct processes *ps, struct merge **ret)
{
	struct merge *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->processes = ps;
	m->held = UINT64_MAX;
	*ret = m;
	return 0;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	lanes_done(&m->lanes);
	free(m->items);
	free(m->keys);
	free(m->spare);
	free(m->runs);
	free(m);
}

int merge_add(struct merge *m, struct source *s)
{
	return lanes_add(&m->lanes, s);
}

int merge_poll(struct merge *m)
{
	return lanes_poll(&m->lanes);
}

/* The moment up to which events may be passed on, as far as lanes hold them back that wait. */
static uint64_t limit_ts(const struct merge *m)
{
	/* Others of the last moment, or of a later one, went out already: holding an event back helps
	 * nobody, and would part it from its partner in another lane. */
	uint64_t before = m->held == UINT64_MAX ? m->held : m->held - !!m->held;
	return before > m->last_ts ? before : m->last_ts;
}

/* Where the window begins and ends, by the lanes. False: there is no event for it. */
static bool find_window(struct merge *m)
{
	uint64_t begin = UINT64_MAX, end = UINT64_MAX;
	bool any = false;
	m->held = UINT64_MAX;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		const struct lane *l = &m->lanes.lane[m->lanes.live[i]];
		bool has = lane_left(l) != 0;
		any |= has;
		if (has && l->events[l->at].ts < begin)
			begin = l->events[l->at].ts;
		if (has && lane_is_open(l))
			end = l->last_ts < end ? l->last_ts : end;
		else
			m->held = l->horizon < m->held ? l->horizon : m->held;
	}
	uint64_t limit = limit_ts(m);
	m->begin_ts = begin;
	m->end_is_open = end <= limit;
	m->end_ts = m->end_is_open ? end : limit;
	if (begin <= m->end_ts && (m->end_ts - begin) >> WINDOW_NS_BITS) {
		m->end_ts = begin + (UINT64_MAX >> ITEM_BITS);
		m->end_is_open = false;
	}
	return any && begin <= m->end_ts;
}

/* A loss stands before the event at which the stream resumes; its pos is not a position. */
static uint64_t order_pos(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST ? 0 : kinds_pos(ev);
}

static const struct item *item_of(const struct merge *m, uint64_t key)
{
	return &m->items[key & ITEM_MASK];
}

/* By pid, whatever the order in which the registry met them; incarnations of one pid by age. */
static bool is_before(const struct processes *ps, uint32_t a, uint32_t b)
{
	uint32_t pid_a = processes_pid(ps, a), pid_b = processes_pid(ps, b);
	return pid_a != pid_b ? pid_a < pid_b
			      : processes_at(ps, a)->number < processes_at(ps, b)->number;
}

/* The order of a moment. Times differ where a lane's went back. */
static bool before(const struct merge *m, uint64_t key_a, uint64_t key_b)
{
	const struct ebt_event *a = item_of(m, key_a)->ev, *b = item_of(m, key_b)->ev;
	if (a->ts != b->ts)
		return a->ts < b->ts;
	if (a->process != b->process)
		return is_before(m->processes, a->process, b->process);
	if (a->domain != b->domain)
		return a->domain < b->domain;
	return order_pos(a) < order_pos(b);
}

/* True if the lane must be asked before anything may follow this event. */
static bool ends_open(const struct merge *m, uint64_t key)
{
	const struct lane *l = &m->lanes.lane[item_of(m, key)->lane];
	return item_of(m, key)->ev == l->events + l->count - 1 && lane_is_open(l);
}

/* The items of one moment, by lane: from..next-1 of each are its run. Returns the number of runs. */
static uint32_t find_runs(struct merge *m, const uint64_t *keys, uint32_t n)
{
	uint32_t runs = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!i || item_of(m, keys[i])->lane != item_of(m, keys[i - 1])->lane)
			m->runs[runs++] = (struct run){.next = i};
		m->runs[runs - 1].end = i + 1;
	}
	return runs;
}

/* The first of the runs by their next events; *ret_second: the first of the others, or itself. */
static uint32_t first_run(const struct merge *m, const uint64_t *keys, uint32_t runs,
			  uint32_t *ret_second)
{
	uint32_t first = 0, second = 0;
	for (uint32_t r = 1; r < runs; r++) {
		uint64_t key = keys[m->runs[r].next];
		if (before(m, key, keys[m->runs[first].next])) {
			second = first;
			first = r;
		} else if (second == first || before(m, key, keys[m->runs[second].next])) {
			second = r;
		}
	}
	*ret_second = second;
	return first;
}

/*
 * Merges the runs of a moment: within a lane events keep their order. Ends behind an event whose
 * lane must be asked first, if `may_end`; what is left stays in its lanes. Returns how many go on.
 */
static uint32_t merge_moment(struct merge *m, uint64_t *keys, uint32_t n, bool may_end)
{
	uint64_t *out = m->order == m->keys ? m->spare : m->keys;
	uint32_t runs = find_runs(m, keys, n), count = 0;
	for (bool ended = false; runs && !ended;) {
		uint32_t second, first = first_run(m, keys, runs, &second);
		struct run *r = &m->runs[first];
		uint64_t other = keys[m->runs[second].next];
		do {
			ended = may_end && ends_open(m, keys[r->next]);
			out[count++] = keys[r->next++];
		} while (!ended && r->next < r->end &&
			 (first == second || (first < second ? !before(m, other, keys[r->next])
							     : before(m, keys[r->next], other))));
		if (r->next == r->end)
			memmove(r, r + 1, (--runs - first) * sizeof(*r));
	}
	for (uint32_t r = 0; r < runs; r++)
		m->lanes.lane[item_of(m, keys[m->runs[r].next])->lane].at -=
			m->runs[r].end - m->runs[r].next;
	memcpy(keys, out, count * sizeof(*keys));
	return count;
}

/* Sorts the events that have the same time; nearly always they are two, of a ring and of BPF. */
static void order_moments(struct merge *m)
{
	uint64_t last = (m->end_ts - m->begin_ts) << ITEM_BITS;
	uint64_t *keys = m->order;
	for (uint32_t i = 0, n; i + 1 < m->count; i += n) {
		uint64_t moment = keys[i] & ~(uint64_t)ITEM_MASK;
		n = 1;
		while (i + n < m->count && (keys[i + n] ^ moment) <= ITEM_MASK)
			n++;
		bool may_end = m->end_is_open && moment == last;
		if (n == 2 && !may_end) {
			uint64_t a = keys[i], b = keys[i + 1];
			bool swap = item_of(m, a)->lane != item_of(m, b)->lane && before(m, b, a);
			keys[i] = swap ? b : a;
			keys[i + 1] = swap ? a : b;
		} else if (n > 1) {
			uint32_t kept = merge_moment(m, keys + i, n, may_end);
			if (kept < n)
				m->count = i + kept;
		}
	}
}

/* A window that is a part of one lane is handed out where it is. */
static void take_lane(struct merge *m, struct lane *l)
{
	uint32_t first = l->at;
	if (l->last_ts <= m->end_ts)
		l->at = l->count;
	while (l->at < l->count && l->events[l->at].ts <= m->end_ts)
		l->at++;
	m->only = l;
	m->count = l->at - first;
}

/* Memory for as many items as the lanes' buffers can hold. 0 or -ENOMEM. */
static int make_room(struct merge *m)
{
	if (m->room < m->lanes.buffered) {
		size_t room = 2 * m->lanes.buffered;
		free(m->items);
		free(m->keys);
		free(m->spare);
		m->room = 0;
		m->items = malloc(room * sizeof(*m->items));
		m->keys = malloc(room * sizeof(*m->keys));
		m->spare = malloc(room * sizeof(*m->spare));
		if (!m->items || !m->keys || !m->spare)
			return -ENOMEM;
		m->room = room;
	}
	if (m->run_cap < m->lanes.cap) {
		free(m->runs);
		m->run_cap = 0;
		m->runs = malloc(m->lanes.cap * sizeof(*m->runs));
		if (!m->runs)
			return -ENOMEM;
		m->run_cap = m->lanes.cap;
	}
	return 0;
}

/* Sorts what the lanes have up to the end of the window. */
static void sort_lanes(struct merge *m)
{
	uint64_t last = 0, last_key = 0;
	bool sorted = true;
	uint32_t n = 0;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		struct lane *l = &m->lanes.lane[m->lanes.live[i]];
		uint64_t ts = 0;
		for (; l->at < l->count; l->at++) {
			struct ebt_event *ev = &l->events[l->at];
			ts = ev->ts > ts ? ev->ts : ts; /* what went back comes behind */
			if (ts > m->end_ts)
				break;
			uint64_t key = (ts - m->begin_ts) << ITEM_BITS | n;
			m->items[n] = (struct item){ev, m->lanes.live[i]};
			m->keys[n++] = key;
			sorted &= key >= last_key;
			last_key = key;
		}
		last = last_key > last ? last_key : last;
	}
	unsigned bits = last >> ITEM_BITS ? 64 - (unsigned)__builtin_clzll(last) - ITEM_BITS : 0;
	m->order = sorted ? m->keys : radix_sort(m->keys, m->spare, n, ITEM_BITS, bits);
	m->only = NULL;
	m->count = n;
	order_moments(m);
}

/* 1; 0: every lane has ended; -EAGAIN: nothing may be passed on yet; -ENOMEM. */
static int open_window(struct merge *m)
{
	m->next = m->count = 0;
	int err = lanes_refill(&m->lanes);
	if (!err)
		err = make_room(m);
	if (err)
		return err;
	if (!find_window(m))
		return m->lanes.live_count ? -EAGAIN : 0;
	struct lane *only = NULL;
	uint32_t lanes = 0;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		struct lane *l = &m->lanes.lane[m->lanes.live[i]];
		if (!lane_left(l) || l->events[l->at].ts > m->end_ts)
			continue;
		only = l;
		lanes++;
	}
	if (lanes == 1)
		take_lane(m, only);
	else
		sort_lanes(m);
	return 1;
}

int merge_batch(struct merge *m, struct ebt_event **ret)
{
	if (m->next == m->count) {
		int got = open_window(m);
		if (got <= 0)
			return got;
	}
	uint32_t n = m->count - m->next < BATCH_EVENTS ? m->count - m->next : BATCH_EVENTS;
	struct ebt_event *ev = m->batch;
	if (m->only)
		ev = m->only->events + m->only->at - (m->count - m->next);
	else
		for (uint32_t i = 0; i < n; i++)
			ev[i] = *item_of(m, m->order[m->next + i])->ev;
	m->next += n;
	for (uint32_t i = 0; i < n; i++) {
		bool late = ev[i].ts < m->last_ts;
		if (late) {
			ev[i].ts = m->last_ts;
			ev[i].flags |= EBT_F_LATE;
		}
		m->last_ts = ev[i].ts;
	}
	*ret = ev;
	return (int)n;
}

uint64_t merge_horizon(const struct merge *m)
{
	uint64_t first = m->held;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		const struct lane *l = &m->lanes.lane[m->lanes.live[i]];
		if (lane_left(l) && l->events[l->at].ts < first)
			first = l->events[l->at].ts;
	}
	return first;
}

int merge_error(const struct merge *m)
{
	return m->lanes.error;
}
