/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/merge.h"

#include "core/kinds.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum lane_state { LANE_ENDED, LANE_WAITING, LANE_FULL };

struct lane {
	struct source *source;
	uint32_t owner; /* its place among the sources */
	uint32_t number;
	enum lane_state state;
	uint64_t horizon; /* while waiting */
	uint32_t at, count;
	struct ebt_event *events; /* made when the lane first brings something */
};

struct merge_source {
	struct source *source;
	uint32_t lanes; /* taken in so far */
	int failed;
};

/* A full lane in the heap: the time of its next event is kept here, beside its neighbours'. */
struct entry {
	uint64_t ts;
	uint32_t lane;
};

struct merge {
	struct merge_source *sources;
	uint32_t source_count;
	struct lane *lanes;
	struct entry *heap;
	uint32_t lane_count, lane_cap, heap_count;
	uint32_t alive;
	uint64_t held;	  /* least horizon of the waiting lanes; UINT64_MAX: none waits */
	uint64_t last_ts; /* of what was passed on */
	int error;
	struct ebt_event scratch[MERGE_BATCH];
};

int merge_new(struct merge **ret)
{
	struct merge *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->held = UINT64_MAX;
	*ret = m;
	return 0;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->lane_count; i++)
		free(m->lanes[i].events);
	free(m->lanes);
	free(m->heap);
	free(m->sources);
	free(m);
}

int merge_add(struct merge *m, struct source *s)
{
	struct merge_source *more =
		realloc(m->sources, (m->source_count + 1) * sizeof(*m->sources));
	if (!more)
		return -ENOMEM;
	m->sources = more;
	m->sources[m->source_count++] = (struct merge_source){.source = s};
	return 0;
}

/* A loss stands before the event at which the stream resumes; its pos is not a position. */
static uint64_t order_pos(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST ? 0 : kinds_pos(ev);
}

static int compare_same_ts(const struct merge *m, uint32_t lane_a, uint32_t lane_b)
{
	const struct ebt_event *a = &m->lanes[lane_a].events[m->lanes[lane_a].at];
	const struct ebt_event *b = &m->lanes[lane_b].events[m->lanes[lane_b].at];
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (order_pos(a) != order_pos(b))
		return order_pos(a) < order_pos(b) ? -1 : 1;
	return lane_a < lane_b ? -1 : 1;
}

static inline bool before(const struct merge *m, const struct entry *a, const struct entry *b)
{
	if (a->ts != b->ts)
		return a->ts < b->ts;
	return compare_same_ts(m, a->lane, b->lane) < 0;
}

static void sift_down(struct merge *m, uint32_t i)
{
	struct entry *heap = m->heap, moving = heap[i];
	for (;;) {
		uint32_t child = 2 * i + 1;
		if (child >= m->heap_count)
			break;
		/* Which of two lanes is next cannot be foretold: added up, not jumped over. */
		if (child + 1 < m->heap_count) {
			bool tie = heap[child + 1].ts == heap[child].ts;
			child += tie ? before(m, &heap[child + 1], &heap[child])
				     : heap[child + 1].ts < heap[child].ts;
		}
		if (!before(m, &heap[child], &moving))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

static void heap_push(struct merge *m, uint32_t lane)
{
	struct entry e = {.ts = m->lanes[lane].events[0].ts, .lane = lane};
	uint32_t i = m->heap_count++;
	while (i && before(m, &e, &m->heap[(i - 1) / 2])) {
		m->heap[i] = m->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->heap[i] = e;
}

/* Asks a lane for its next batch and sets its state. 0 or -ENOMEM. */
static int refill(struct merge *m, struct lane *l)
{
	struct ebt_event *into = l->events ? l->events : m->scratch;
	int n = source_read(l->source, l->number, into, MERGE_BATCH);
	/* A source that has failed will bring nothing more: waiting for it would hold back the others. */
	if (n == -EAGAIN && m->sources[l->owner].failed)
		n = 0;
	if (n == -EAGAIN) {
		l->state = LANE_WAITING;
		l->horizon = source_horizon(l->source, l->number);
		if (l->horizon < m->held)
			m->held = l->horizon;
		return 0;
	}
	if (n <= 0) {
		if (n < 0 && !m->error)
			m->error = n;
		l->state = LANE_ENDED;
		m->alive--;
		/* Lanes come and go with processes. */
		free(l->events);
		l->events = NULL;
		return 0;
	}
	/* Most lanes of a ring file are never used, so only those that speak get a buffer. */
	if (!l->events) {
		l->events = malloc(MERGE_BATCH * sizeof(*l->events));
		if (!l->events)
			return -ENOMEM;
		memcpy(l->events, m->scratch, (size_t)n * sizeof(*l->events));
	}
	l->at = 0;
	l->count = (uint32_t)n;
	l->state = LANE_FULL;
	return 0;
}

static int add_lane(struct merge *m, uint32_t owner, uint32_t number)
{
	if (m->lane_count == m->lane_cap) {
		uint32_t cap = m->lane_cap ? m->lane_cap * 2 : 16;
		struct lane *lanes = realloc(m->lanes, cap * sizeof(*lanes));
		if (!lanes)
			return -ENOMEM;
		m->lanes = lanes;
		struct entry *heap = realloc(m->heap, cap * sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		m->heap = heap;
		m->lane_cap = cap;
	}
	m->lanes[m->lane_count++] = (struct lane){
		.source = m->sources[owner].source,
		.owner = owner,
		.number = number,
		.state = LANE_WAITING,
	};
	m->alive++;
	return 0;
}

static int poll_source(struct merge *m, uint32_t owner)
{
	struct merge_source *ms = &m->sources[owner];
	if (!ms->failed) {
		ms->failed = source_poll(ms->source);
		if (ms->failed && !m->error)
			m->error = ms->failed;
		/* Detached, it costs the traced program nothing more, and gives out all that it holds. */
		if (ms->failed)
			source_stop(ms->source);
	}
	while (ms->lanes < ms->source->lanes) {
		int err = add_lane(m, owner, ms->lanes);
		if (err)
			return err;
		ms->lanes++;
	}
	return 0;
}

int merge_poll(struct merge *m)
{
	for (uint32_t i = 0; i < m->source_count; i++) {
		int err = poll_source(m, i);
		if (err)
			return err;
	}
	m->held = UINT64_MAX;
	for (uint32_t i = 0; i < m->lane_count; i++) {
		struct lane *l = &m->lanes[i];
		if (l->state != LANE_WAITING)
			continue;
		int err = refill(m, l);
		if (err)
			return err;
		if (l->state == LANE_FULL)
			heap_push(m, i);
	}
	return 0;
}

/* The top's event was taken: its lane's next one takes the place, or the lane leaves the heap. */
static int advance_top(struct merge *m)
{
	struct lane *l = &m->lanes[m->heap[0].lane];
	if (++l->at == l->count) {
		int err = refill(m, l);
		if (err)
			return err;
		if (l->state != LANE_FULL) {
			m->heap[0] = m->heap[--m->heap_count];
			if (m->heap_count)
				sift_down(m, 0);
			return 0;
		}
	}
	m->heap[0].ts = l->events[l->at].ts;
	/* Until this lane is next again, many others may be: its time is fetched ahead. */
	if (l->at + 1 < l->count)
		__builtin_prefetch(&l->events[l->at + 1]);
	if (m->heap_count > 1)
		sift_down(m, 0);
	return 0;
}

int merge_next(struct merge *m, struct ebt_event *ret)
{
	if (!m->heap_count)
		return m->alive ? -EAGAIN : 0;
	struct lane *l = &m->lanes[m->heap[0].lane];
	uint64_t ts = m->heap[0].ts;
	/* Others of this moment, or of a later one, went out already: holding it back helps nobody,
	 * and would part an event from its partner in another lane. */
	bool is_held = m->held != UINT64_MAX && ts >= m->held;
	if (is_held && ts > m->last_ts)
		return -EAGAIN;
	*ret = l->events[l->at];
	if (ts < m->last_ts) {
		ret->ts = m->last_ts;
		ret->flags |= EBT_F_LATE;
	}
	m->last_ts = ret->ts;
	int err = advance_top(m);
	return err ? err : 1;
}

uint64_t merge_horizon(const struct merge *m)
{
	uint64_t top = m->heap_count ? m->heap[0].ts : UINT64_MAX;
	return top < m->held ? top : m->held;
}

int merge_error(const struct merge *m)
{
	return m->error;
}
