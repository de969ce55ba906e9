/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A process of the snapshot. One that is final in the model shares its lanes and its histogram, and
 * one of which no pauses are held its histogram. */
struct process_copy {
	struct stat_process process;
	bool has_histogram; /* of its own */
	struct stat_lane *lanes;
	struct pause_thread *waiting; /* what the pauses of those lanes that have some change */
};

/* The memory of a snapshot, for the next one. */
struct stat_room {
	struct process_copy *at;
	uint32_t count, cap;
};

static void clear(struct stat_room *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->at[i].has_histogram)
			histogram_done(&r->at[i].process.numbers.pauses.whole);
		free(r->at[i].lanes);
		free(r->at[i].waiting);
	}
	r->count = 0;
}

void stat_snapshot_done(struct stat_snapshot *s)
{
	if (s->room) {
		clear(s->room);
		free(s->room->at);
	}
	free(s->room);
	*s = (struct stat_snapshot){0};
}

static void copy_lane(struct stat_lane *l, struct process_copy *of, struct pause_thread *waiting,
		      struct stat_lane *ret)
{
	struct pause_clock *clock = &ret->pauses.clock;
	stat_sets_view(l, ret);
	ret->process = &of->process;
	ret->pauses.sum = &of->process.numbers.pauses;
	if (clock->waiting) {
		memcpy(waiting, clock->waiting, PAUSE_CLOCK_WAITING * sizeof(*waiting));
		clock->waiting = waiting;
	}
}

static uint32_t count_waiting(const struct stat_process *p)
{
	uint32_t n = 0;
	for (const struct stat_lane *l = p->lanes; l; l = l->next)
		n += l->pauses.clock.waiting != NULL;
	return n;
}

/* 0 or -ENOMEM. */
static int copy_lanes(const struct stat_process *p, struct process_copy *ret)
{
	bool held = false;
	uint32_t n = 0, waiting = count_waiting(p), waits = 0;
	if (!p->lane_count)
		return 0;
	ret->lanes = malloc(p->lane_count * sizeof(*ret->lanes));
	ret->waiting =
		waiting ? calloc(waiting, PAUSE_CLOCK_WAITING * sizeof(*ret->waiting)) : NULL;
	if (!ret->lanes || (waiting && !ret->waiting))
		return -ENOMEM;
	for (struct stat_lane *l = p->lanes; l; l = l->next, n++) {
		struct stat_lane *to = &ret->lanes[n];
		copy_lane(l, ret, ret->waiting + waits * PAUSE_CLOCK_WAITING, to);
		waits += to->pauses.clock.waiting != NULL;
		to->next = l->next ? to + 1 : NULL;
		held |= to->pauses.held_count || to->tallied;
	}
	ret->process.lanes = ret->lanes;
	if (!held)
		return 0;
	struct histogram *whole = &ret->process.numbers.pauses.whole;
	ret->has_histogram = true;
	*whole = (struct histogram){0};
	int err = histogram_copy(whole, &p->numbers.pauses.whole);
	for (uint32_t i = 0; i < n && !err; i++)
		err = stat_lane_add_tallied(&ret->lanes[i], whole);
	return err;
}

static int copy_process(const struct stat_model *m, const struct stat_process *p, struct moment now,
			struct process_copy *ret)
{
	*ret = (struct process_copy){.process = *p};
	if (p->is_final)
		return 0;
	int err = copy_lanes(p, ret);
	return err ? err : stat_model_finish(m, &ret->process, now);
}

int stat_snapshot_take(struct stat_snapshot *s, struct stat_model *m, struct moment now)
{
	const struct stat_processes *ps = &m->processes;
	if (!s->room && !(s->room = calloc(1, sizeof(*s->room))))
		return -ENOMEM;
	struct stat_room *r = s->room;
	clear(r);
	*s = (struct stat_snapshot){
		.at = now, .count = ps->count, .programs = &m->programs, .room = r};
	if (ps->listed && !array_reserve(r->at, r->cap, ps->listed - 1))
		return -ENOMEM;
	int err = 0;
	for (const struct stat_process *p = ps->first; p && !err; p = p->next) {
		struct process_copy *c = &r->at[r->count++];
		err = copy_process(m, p, now, c);
		c->process.prev = NULL;
		c->process.next = p->next ? &r->at[r->count].process : NULL;
	}
	s->first = r->count ? &r->at->process : NULL;
	s->listed = r->count;
	return err;
}

int stat_snapshot_total(const struct stat_snapshot *s, struct stat_numbers *sum)
{
	int err = 0;
	for (const struct stat_process *p = s->first; p && !err; p = p->next)
		err = stat_numbers_add(sum, &p->numbers);
	for (const struct stat_program *g = s->programs->first; g && !err; g = g->next)
		err = stat_numbers_add(sum, &g->numbers);
	return err;
}
