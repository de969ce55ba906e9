/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/merge.h"

#include "session/kinds.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/radix.h"
#include "base/runs.h"
#include "stream/lanes.h"

/* A key of the sort: the time since the first event of the window, the lane, the index in the
 * buffer of the lane. */
#define EVENT_MASK     (LANE_EVENTS_MAX - 1)
#define SLOT_BITS      (LANES_BITS + LANE_EVENTS_BITS)
#define SLOT_MASK      ((1u << SLOT_BITS) - 1)
#define WINDOW_NS_BITS (64 - SLOT_BITS)

/* Keys of one moment and one lane that are to be merged, as indices into the sorted keys. */
struct run {
	uint32_t next, end;
};

struct merge {
	const struct processes *processes;
	struct lanes lanes;
	uint64_t held;	  /* least horizon of the lanes that wait; UINT64_MAX: none waits */
	uint64_t last_ts; /* of the last emitted event */
	/* The window: the events from begin_ts to end_ts, emitted in order. */
	uint64_t begin_ts, end_ts;
	bool end_is_open;  /* lanes may have more of its last moment */
	bool in_order;	   /* no event is late, and no lane's times go back */
	struct lane *only; /* all are of this lane, in its buffer; NULL: `keys` */
	uint32_t next, count;
	uint64_t *keys, *spare;
	uint32_t *ties;
	size_t room; /* of each of the three */
	struct run *runs;
	uint32_t run_cap; /* at least as many as there are lanes */
	uint32_t batch_max;
	struct ebt_event batch[BATCH_EVENTS];
};

int merge_new(const struct processes *ps, struct merge **ret)
{
	struct merge *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->processes = ps;
	m->held = UINT64_MAX;
	m->batch_max = BATCH_EVENTS;
	*ret = m;
	return 0;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	lanes_done(&m->lanes);
	free(m->keys);
	free(m->spare);
	free(m->ties);
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

/* The moment up to which waiting lanes let events be emitted. */
static uint64_t limit_ts(const struct merge *m)
{
	/* Events of last_ts are emitted already. Holding back an event up to that moment would not
	 * improve the order, and would separate it from its partner in another lane. */
	uint64_t before = m->held == UINT64_MAX ? m->held : m->held - !!m->held;
	return before > m->last_ts ? before : m->last_ts;
}

/* Sets begin and end of the window by the lanes. False: no event is in it. */
static bool find_window(struct merge *m)
{
	uint64_t begin = UINT64_MAX, end = UINT64_MAX;
	bool any = false;
	m->held = m->lanes.asleep ? m->lanes.horizon : UINT64_MAX;
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
		m->end_ts = begin + (UINT64_MAX >> SLOT_BITS);
		m->end_is_open = false;
	}
	return any && begin <= m->end_ts;
}

/* A loss precedes the event at which the stream resumes; its pos is not a position. */
static uint64_t order_pos(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST ? 0 : kinds_pos(ev);
}

static struct lane *lane_of(const struct merge *m, uint64_t key)
{
	return &m->lanes.lane[(key & SLOT_MASK) >> LANE_EVENTS_BITS];
}

static struct ebt_event *event_of(const struct merge *m, uint64_t key)
{
	return &lane_of(m, key)->events[key & EVENT_MASK];
}

/* By pid, not by index; incarnations of one pid by age. */
static bool is_before(const struct processes *ps, uint32_t a, uint32_t b)
{
	uint32_t pid_a = processes_pid(ps, a), pid_b = processes_pid(ps, b);
	return pid_a != pid_b ? pid_a < pid_b
			      : processes_at(ps, a)->number < processes_at(ps, b)->number;
}

/* The order within a moment. Times differ where those of a lane went back. */
static bool before(const struct merge *m, uint64_t key_a, uint64_t key_b)
{
	const struct ebt_event *a = event_of(m, key_a), *b = event_of(m, key_b);
	if (a->ts != b->ts)
		return a->ts < b->ts;
	if (a->process != b->process)
		return is_before(m->processes, a->process, b->process);
	if (a->domain != b->domain)
		return a->domain < b->domain;
	bool same = a->pos == b->pos && a->kind == b->kind; /* the ring's and BPF's record */
	return !same && order_pos(a) < order_pos(b);
}

/* True if the lane must be read before an event may follow this one. */
static bool ends_open(const struct merge *m, uint64_t key)
{
	const struct lane *l = lane_of(m, key);
	return (key & EVENT_MASK) == l->count - 1 && lane_is_open(l);
}

/* The keys of one moment, by lane: from..next-1 of each are its run. Returns the number of runs. */
static uint32_t find_runs(struct merge *m, const uint64_t *keys, uint32_t n)
{
	uint32_t runs = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!i || lane_of(m, keys[i]) != lane_of(m, keys[i - 1]))
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
 * Merges the runs of a moment: within a lane events keep their order. If `may_end`, ends behind an
 * event if its lane must be read before another may follow; the rest stays in the lanes. Returns
 * the number of keys merged.
 */
static uint32_t merge_moment(struct merge *m, uint64_t *keys, uint32_t n, bool may_end)
{
	uint64_t *out = m->spare;
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
		lane_of(m, keys[m->runs[r].next])->at -= m->runs[r].end - m->runs[r].next;
	memcpy(keys, out, count * sizeof(*keys));
	return count;
}

static inline bool same_moment(uint64_t key_a, uint64_t key_b)
{
	return (key_a ^ key_b) <= SLOT_MASK;
}

/* Writes to m->ties the index of each key with the same moment as the next key, without a branch
 * that depends on the keys. Returns their number. */
static uint32_t find_ties(const struct merge *m)
{
	const uint64_t *keys = m->keys;
	uint32_t *tie = m->ties, ties = 0, n = m->count;
	uint64_t key = keys[0];
	for (uint32_t i = 1; i < n; i++) {
		uint64_t next = keys[i];
		tie[ties] = i - 1;
		ties += same_moment(key, next);
		key = next;
	}
	return ties;
}

/* Sorts the events that have the same time; nearly always they are two, of a ring and of BPF. */
static void order_moments(struct merge *m)
{
	uint64_t last = (m->end_ts - m->begin_ts) << SLOT_BITS;
	const uint32_t *tie = m->ties, *end = tie + find_ties(m);
	for (uint32_t n; tie < end; tie += n - 1) {
		uint64_t *keys = m->keys + *tie;
		for (n = 2; tie + n - 1 < end && tie[n - 1] == *tie + n - 1;)
			n++;
		bool may_end = m->end_is_open && same_moment(*keys, last);
		if (n == 2 && !may_end) {
			uint64_t a = keys[0], b = keys[1];
			bool swap = lane_of(m, a) != lane_of(m, b) && before(m, b, a);
			keys[0] = swap ? b : a;
			keys[1] = swap ? a : b;
		} else {
			uint32_t kept = merge_moment(m, keys, n, may_end);
			if (kept < n)
				m->count = *tie + kept;
		}
	}
}

/* A window of events of one lane is emitted from the lane's buffer. */
static void take_lane(struct merge *m, struct lane *l)
{
	uint32_t first = l->at;
	if (l->last_ts <= m->end_ts)
		l->at = l->count;
	while (l->at < l->count && l->events[l->at].ts <= m->end_ts)
		l->at++;
	m->only = l;
	m->in_order &= l->in_order;
	m->count = l->at - first;
}

/* Memory for as many keys as the lanes' buffers can hold, and 4 words around the runs of two lanes.
 * 0 or -ENOMEM. */
static int make_room(struct merge *m)
{
	if (m->room < m->lanes.buffered + 4) {
		size_t room = 2 * m->lanes.buffered + 4;
		free(m->keys);
		free(m->spare);
		free(m->ties);
		m->room = 0;
		m->keys = malloc(room * sizeof(*m->keys));
		m->spare = malloc(room * sizeof(*m->spare));
		m->ties = malloc(room * sizeof(*m->ties));
		if (!m->keys || !m->spare || !m->ties)
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

/* The index behind the last event up to the end of the window, of a lane that is in order. */
static uint32_t find_end(const struct lane *l, uint64_t end_ts)
{
	uint32_t at = l->at, left = lane_left(l);
	while (left) {
		uint32_t half = left / 2;
		bool before = l->events[at + half].ts <= end_ts;
		at = before ? at + half + 1 : at;
		left = before ? left - half - 1 : half;
	}
	return at;
}

/* The keys of a lane's events up to the end of the window. Returns how many there are. */
static uint32_t make_keys(const struct merge *m, uint32_t index, uint64_t *keys)
{
	struct lane *l = &m->lanes.lane[index];
	const struct ebt_event *ev = l->events;
	/* The lane and the begin of the window, which are added to time and index at once. */
	uint64_t base = ((uint64_t)index << LANE_EVENTS_BITS) - (m->begin_ts << SLOT_BITS);
	uint32_t first = l->at, at = first;
	if (l->in_order) {
		uint32_t end = l->last_ts <= m->end_ts ? l->count : find_end(l, m->end_ts);
		for (; at < end; at++)
			*keys++ = (ev[at].ts << SLOT_BITS) + (base + at);
	} else {
		uint64_t ts = 0, end_ts = m->end_ts, count = l->count;
		for (; at < count; at++) {
			ts = ev[at].ts > ts ? ev[at].ts
					    : ts; /* a time that went back sorts behind */
			if (ts > end_ts)
				break;
			*keys++ = (ts << SLOT_BITS) + (base + at);
		}
	}
	l->at = at;
	return at - first;
}

static void swap_keys(struct merge *m)
{
	uint64_t *keys = m->keys;
	m->keys = m->spare;
	m->spare = keys;
}

/* Sorts the events of two lanes up to the end of the window. */
static void sort_two(struct merge *m, uint32_t index_a, uint32_t index_b)
{
	uint64_t *a = m->keys + 1; /* a word before and behind each run is not a key */
	uint32_t na = make_keys(m, index_a, a);
	uint64_t *b = a + na + 2;
	uint32_t nb = make_keys(m, index_b, b);
	runs_merge(a, na, b, nb, m->spare);
	swap_keys(m);
	m->in_order &= m->lanes.lane[index_a].in_order & m->lanes.lane[index_b].in_order;
	m->only = NULL;
	m->count = na + nb;
	order_moments(m);
}

/* Sorts the events of all lanes up to the end of the window. */
static void sort_lanes(struct merge *m)
{
	uint64_t last_key = 0;
	bool sorted = true;
	uint32_t count = 0;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		uint64_t *keys = m->keys + count;
		uint32_t n = make_keys(m, m->lanes.live[i], keys);
		if (!n)
			continue;
		sorted &= keys[0] >= last_key;
		last_key = keys[n - 1] > last_key ? keys[n - 1] : last_key;
		m->in_order &= m->lanes.lane[m->lanes.live[i]].in_order;
		count += n;
	}
	uint64_t last = last_key >> SLOT_BITS;
	unsigned bits = last ? 64 - (unsigned)__builtin_clzll(last) : 0;
	if (!sorted)
		radix_sort(m->keys, m->spare, count, SLOT_BITS, bits);
	m->only = NULL;
	m->count = count;
	order_moments(m);
}

/* 1; 0: every lane has ended; -EAGAIN: no event may be emitted yet; -ENOMEM. */
static int open_window(struct merge *m)
{
	m->next = m->count = 0;
	int err = lanes_refill(&m->lanes);
	if (!err)
		err = make_room(m);
	if (err)
		return err;
	if (!find_window(m))
		return m->lanes.live_count || m->lanes.asleep ? -EAGAIN : 0;
	uint32_t lane[2] = {0}, lanes = 0;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		const struct lane *l = &m->lanes.lane[m->lanes.live[i]];
		if (!lane_left(l) || l->events[l->at].ts > m->end_ts)
			continue;
		lane[0] = lane[1];
		lane[1] = m->lanes.live[i];
		lanes++;
	}
	m->in_order = m->begin_ts >= m->last_ts;
	if (lanes == 1)
		take_lane(m, &m->lanes.lane[lane[1]]);
	else if (lanes == 2)
		sort_two(m, lane[0], lane[1]);
	else
		sort_lanes(m);
	return 1;
}

static void copy_events(const struct merge *m, const uint64_t *keys, struct ebt_event *ev,
			uint32_t n)
{
	const struct lane *lane = m->lanes.lane;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t slot = keys[i] & SLOT_MASK;
		ev[i] = lane[slot >> LANE_EVENTS_BITS].events[slot & EVENT_MASK];
	}
}

/* A lifetime needs the own times of its events, which have room for them. */
static void keep_own_ts(struct ebt_event *ev, uint64_t ts)
{
	uint64_t us = ev->size + (ts - ev->ts) / 1000;
	enum kinds_family family = kinds_family(ev->kind);
	if (family == KINDS_memory || family == KINDS_pages || family == KINDS_sched)
		ev->size = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* Raises the times of events that are older than the last emitted one. */
static void flag_late(struct merge *m, struct ebt_event *ev, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bool late = ev[i].ts < m->last_ts;
		if (late) {
			keep_own_ts(&ev[i], m->last_ts);
			ev[i].ts = m->last_ts;
			ev[i].flags |= EBT_F_LATE;
		}
		m->last_ts = ev[i].ts;
	}
}

int merge_batch(struct merge *m, struct ebt_event **ret)
{
	if (m->next == m->count) {
		int got = open_window(m);
		if (got <= 0)
			return got;
	}
	uint32_t n = m->count - m->next < m->batch_max ? m->count - m->next : m->batch_max;
	struct ebt_event *ev = m->batch;
	if (m->only)
		ev = m->only->events + m->only->at - (m->count - m->next);
	else
		copy_events(m, m->keys + m->next, ev, n);
	m->next += n;
	if (m->in_order)
		m->last_ts = ev[n - 1].ts;
	else
		flag_late(m, ev, n);
	*ret = ev;
	return (int)n;
}

void merge_limit_batch(struct merge *m, uint32_t events)
{
	m->batch_max = events < BATCH_EVENTS ? events : BATCH_EVENTS;
}

/* What lanes have buffered is not older than the horizon that held it back. */
uint64_t merge_horizon(const struct merge *m)
{
	return m->held;
}

uint64_t merge_newest(const struct merge *m)
{
	uint64_t newest = m->last_ts;
	for (uint32_t i = 0; i < m->lanes.live_count; i++) {
		const struct lane *l = &m->lanes.lane[m->lanes.live[i]];
		if (l->last_ts > newest)
			newest = l->last_ts;
	}
	return newest;
}

int merge_error(const struct merge *m)
{
	return m->lanes.error;
}
