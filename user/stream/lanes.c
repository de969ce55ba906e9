/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* In all buffers together, unless each is as small as can be: with less, windows are so short that
 * looking for the lanes in them costs more than a miss of the cache. */
#define EVENTS_MAX 8192
#define EVENTS_MIN 64

#define SPARES_MAX 64 /* buffers that are kept for the lanes that wake next */

struct lane_source {
	struct source *source;
	uint32_t *lanes; /* the index of each of its lanes */
	uint32_t count, cap;
	uint32_t asleep;  /* of these */
	uint64_t horizon; /* of those that sleep, since the last poll */
	int failed;
};

/* In the memory of the buffer. */
struct spare {
	struct spare *next;
	uint32_t cap;
};
_Static_assert(sizeof(struct spare) <= sizeof(struct ebt_event), "it fits");

void lanes_done(struct lanes *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		free(l->lane[i].events);
	for (uint32_t i = 0; i < l->source_count; i++)
		free(l->sources[i].lanes);
	for (struct spare *s; (s = l->spares);) {
		l->spares = s->next;
		free(s);
	}
	free(l->lane);
	free(l->live);
	free(l->woken);
	free(l->sources);
}

int lanes_add(struct lanes *l, struct source *s)
{
	if (!array_more(l->sources, l->source_count))
		return -ENOMEM;
	l->sources[l->source_count++] = (struct lane_source){.source = s};
	return 0;
}

static int make_room(struct lanes *l)
{
	uint32_t lanes = l->cap, live = l->cap, woken = l->cap;
	if (l->count == LANES_MAX || !array_reserve(l->lane, lanes, l->count) ||
	    !array_reserve(l->live, live, l->count) || !array_reserve(l->woken, woken, l->count))
		return -ENOMEM;
	l->cap = lanes;
	return 0;
}

static int make_source_room(struct lane_source *ls)
{
	return array_reserve(ls->lanes, ls->cap, ls->count) ? 0 : -ENOMEM;
}

/* The lane's index among the live ones. */
static void enliven(struct lanes *l, uint32_t index)
{
	uint32_t at = l->live_count++;
	for (; at && l->live[at - 1] > index; at--)
		l->live[at] = l->live[at - 1];
	l->live[at] = index;
}

static int add_lane(struct lanes *l, uint32_t owner)
{
	struct lane_source *ls = &l->sources[owner];
	if (make_room(l) || make_source_room(ls))
		return -ENOMEM;
	l->lane[l->count] = (struct lane){
		.dry = true,
		.source = ls->source,
		.owner = owner,
		.number = ls->count,
	};
	ls->lanes[ls->count++] = l->count;
	enliven(l, l->count++);
	return 0;
}

/* The events that the ended lane still has are merged first. */
static void begin_again(struct lanes *l, struct lane *lane)
{
	if (!lane->ended)
		return;
	lane->begins_again = true;
	if (!lane->events)
		enliven(l, (uint32_t)(lane - l->lane));
}

/* Puts a lane that sleeps among those that wake. */
static void wake(struct lanes *l, struct lane_source *ls, uint32_t number, uint32_t *count)
{
	uint32_t index = number < ls->count ? ls->lanes[number] : 0;
	struct lane *lane = &l->lane[index];
	if (number >= ls->count || !lane->asleep)
		return;
	lane->asleep = false;
	ls->asleep--;
	l->asleep--;
	l->woken[(*count)++] = index;
}

static int compare_indices(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Merges the lanes that wake, which are not live, with those that are. */
static void enliven_woken(struct lanes *l, uint32_t woken)
{
	bool ascends = true;
	for (uint32_t i = 1; i < woken; i++)
		ascends &= l->woken[i - 1] < l->woken[i];
	if (!ascends)
		qsort(l->woken, woken, sizeof(*l->woken), compare_indices);
	uint32_t live = l->live_count, at = live + woken;
	l->live_count = at;
	while (woken) {
		bool is_live = live && l->live[live - 1] > l->woken[woken - 1];
		l->live[--at] = is_live ? l->live[--live] : l->woken[--woken];
	}
}

/* Wakes the lanes of a source that have events; of one that has failed, all. */
static void wake_lanes(struct lanes *l, struct lane_source *ls)
{
	uint32_t woken = 0;
	for (uint32_t number; source_wakes(ls->source, &number);)
		wake(l, ls, number, &woken);
	for (uint32_t i = 0; ls->failed && ls->asleep && i < ls->count; i++)
		wake(l, ls, i, &woken);
	enliven_woken(l, woken);
	if (ls->source->ops->wakes)
		ls->horizon = source_horizon(ls->source, SOURCE_ASLEEP);
	if (ls->asleep && ls->horizon < l->horizon)
		l->horizon = ls->horizon;
}

static int poll_source(struct lanes *l, uint32_t owner)
{
	struct lane_source *ls = &l->sources[owner];
	if (!ls->failed) {
		ls->failed = source_poll(ls->source);
		if (ls->failed && !l->error)
			l->error = ls->failed;
		/* Stopped, it no longer burdens the traced program, and returns the events that it
		 * holds. */
		if (ls->failed)
			source_stop(ls->source);
	}
	wake_lanes(l, ls);
	while (ls->count < ls->source->lanes) {
		int err = add_lane(l, owner);
		if (err)
			return err;
	}
	for (uint32_t number; source_begins_again(ls->source, &number);)
		if (number < ls->count)
			begin_again(l, &l->lane[ls->lanes[number]]);
	return 0;
}

int lanes_poll(struct lanes *l)
{
	int err = 0;
	l->polls++;
	l->horizon = UINT64_MAX;
	for (uint32_t i = 0; i < l->source_count && !err; i++)
		err = poll_source(l, i);
	return err;
}

/* Events that a lane's buffer is to hold. */
static uint32_t buffer_events(const struct lanes *l)
{
	uint32_t events = LANE_EVENTS_MAX;
	while (events > EVENTS_MIN && events * l->buffers > EVENTS_MAX)
		events /= 2;
	return events;
}

/* The lane has no buffer any more. */
static void leave_buffer(struct lanes *l, struct lane *lane)
{
	l->buffers -= lane->events != NULL;
	l->buffered -= lane->cap;
	lane->events = NULL;
	lane->cap = 0;
}

static void free_buffer(struct lanes *l, struct lane *lane)
{
	free(lane->events);
	leave_buffer(l, lane);
}

static void spare_buffer(struct lanes *l, struct lane *lane)
{
	struct spare *s = (void *)lane->events;
	if (!s || l->spare_count == SPARES_MAX) {
		free_buffer(l, lane);
		return;
	}
	*s = (struct spare){l->spares, lane->cap};
	l->spares = s;
	l->spare_count++;
	leave_buffer(l, lane);
}

/* A spare buffer of this size; those of another size are freed. NULL: there is none. */
static struct ebt_event *take_spare(struct lanes *l, uint32_t cap)
{
	for (struct spare *s; (s = l->spares);) {
		l->spares = s->next;
		l->spare_count--;
		if (s->cap == cap)
			return (void *)s;
		free(s);
	}
	return NULL;
}

static int make_buffer(struct lanes *l, struct lane *lane)
{
	uint32_t cap = buffer_events(l);
	lane->events = take_spare(l, cap);
	if (!lane->events)
		lane->events = malloc(cap * sizeof(*lane->events));
	if (!lane->events)
		return -ENOMEM;
	lane->cap = cap;
	l->buffered += cap;
	l->buffers++;
	return 0;
}

/* The lane has n events more, behind those that were left. */
static void take_in(struct lane *lane, uint32_t n)
{
	const struct ebt_event *ev = lane->events + lane->count;
	uint64_t before = lane->count ? lane->last_ts : 0, last = before;
	bool in_order = !lane->count || lane->in_order;
	for (uint32_t i = 0; i < n; i++) {
		in_order &= before <= ev[i].ts;
		before = ev[i].ts;
	}
	for (uint32_t i = 0; i < n && !in_order; i++)
		last = ev[i].ts > last ? ev[i].ts : last;
	lane->in_order = in_order;
	lane->last_ts = in_order ? before : last;
	lane->count += n;
	lane->dry = false;
}

static void rewind_buffer(struct lane *lane)
{
	uint32_t left = lane_left(lane);
	if (lane->at && left)
		memmove(lane->events, lane->events + lane->at, left * sizeof(*lane->events));
	lane->at = 0;
	lane->count = left;
}

/* Reads more events of a lane. 0 or -ENOMEM. */
static int refill(struct lanes *l, struct lane *lane)
{
	struct ebt_event first[LANE_EVENTS_MIN];
	rewind_buffer(lane);
	if (!lane->count && lane->cap != buffer_events(l))
		free_buffer(l, lane);
	lane->asked = l->polls;
	/* Most lanes of a ring file are never used: a buffer is allocated at the first event. */
	int n = lane->events ? source_read(lane->source, lane->number, lane->events + lane->count,
					   lane->cap - lane->count)
			     : source_read(lane->source, lane->number, first, LANE_EVENTS_MIN);
	if (n > 0) {
		if (!lane->events) {
			int err = make_buffer(l, lane);
			if (err)
				return err;
			memcpy(lane->events, first, (size_t)n * sizeof(*first));
		}
		take_in(lane, (uint32_t)n);
		return 0;
	}
	/* A failed source brings no more events: waiting for it would hold back the others. */
	lane->dry = true;
	lane->ended = n != -EAGAIN || l->sources[lane->owner].failed;
	lane->horizon = lane->ended ? UINT64_MAX : source_horizon(lane->source, lane->number);
	if (n < 0 && n != -EAGAIN && !l->error)
		l->error = n;
	return 0;
}

/* True if the lane has no event until its source wakes it. */
static bool may_sleep(const struct lanes *l, const struct lane *lane)
{
	return lane->dry && !lane_left(lane) && !lane->ended && lane->source->ops->wakes &&
	       lane->asked == l->polls && lane->horizon >= l->sources[lane->owner].horizon;
}

static void fall_asleep(struct lanes *l, struct lane *lane)
{
	struct lane_source *ls = &l->sources[lane->owner];
	spare_buffer(l, lane);
	lane->at = lane->count = 0;
	lane->asleep = true;
	ls->asleep++;
	l->asleep++;
	if (ls->horizon < l->horizon)
		l->horizon = ls->horizon;
}

int lanes_refill(struct lanes *l)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < l->live_count; i++) {
		struct lane *lane = &l->lane[l->live[i]];
		uint32_t left = lane_left(lane);
		/* The source of a dry lane may wait until all its events are merged. */
		bool due = lane->dry ? !left && !lane->ended && lane->asked != l->polls
				     : left <= lane->cap / 4;
		int err = due ? refill(l, lane) : 0;
		if (err)
			return err;
		if (lane->ended && !lane_left(lane)) {
			free_buffer(l, lane);
			if (!lane->begins_again)
				continue;
			lane->ended = lane->begins_again = false;
			lane->horizon = 0;
		} else if (may_sleep(l, lane)) {
			fall_asleep(l, lane);
			continue;
		}
		l->live[kept++] = l->live[i];
	}
	l->live_count = kept;
	return 0;
}
