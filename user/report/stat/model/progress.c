/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/progress.h"

/* The time of the lane's pauses, less the begin of an open part. */
static uint64_t gc_part(const struct stat_lane *l)
{
	const struct pause_clock *c = &l->pauses.clock;
	return c->gc_ns - (c->now.stopping ? c->now.begin_ns : 0);
}

/* Moments are differences modulo 2^64: a sum of lanes that live is `part + live * now`. */
static void add(struct stat_progress *g, const struct stat_lane *l)
{
	bool live = l->state == STAT_LANE_LIVE;
	g->live += live;
	g->elapsed_ns += l->elapsed_ns - (live ? l->since_ns : 0);
	g->stopping += l->pauses.clock.now.stopping != 0;
	g->gc_ns += gc_part(l);
}

static void subtract(struct stat_progress *g, const struct stat_lane *l)
{
	bool live = l->state == STAT_LANE_LIVE;
	g->live -= live;
	g->elapsed_ns -= l->elapsed_ns - (live ? l->since_ns : 0);
	g->stopping -= l->pauses.clock.now.stopping != 0;
	g->gc_ns -= gc_part(l);
}

void stat_progress_note(struct stat_progress *g, struct stat_lane *l)
{
	if (l->kept)
		subtract(g, l);
	l->kept = false;
	if (!l->is_changed) {
		l->is_changed = true;
		l->next_changed = g->changed;
		g->changed = l;
	}
	struct stat_process *p = l->process;
	if (!p->is_changed) {
		p->is_changed = true;
		p->next_changed = g->changed_processes;
		g->changed_processes = p;
	}
}

void stat_progress_keep(struct stat_progress *g, struct stat_lane *l)
{
	if (!g->on || l->kept)
		return;
	l->kept = true;
	add(g, l);
}

void stat_progress_open(struct stat_progress *g, uint32_t lanes, uint64_t ns)
{
	g->live += lanes;
	g->elapsed_ns -= lanes * ns;
}

void stat_progress_close(struct stat_progress *g, uint32_t lanes, uint64_t ns)
{
	g->live -= lanes;
	g->elapsed_ns += lanes * ns;
}

static void keep_process(struct stat_progress *g, struct stat_process *p)
{
	struct stat_words words = stat_numbers_minor_words(&p->numbers);
	struct stat_counted now = {stat_numbers_minors(&p->numbers),
				   stat_numbers_majors(&p->numbers), words.words};
	g->counted.minors += now.minors - p->counted.minors;
	g->counted.majors += now.majors - p->counted.majors;
	g->counted.words += now.words - p->counted.words;
	g->has_words |= words.seen;
	p->counted = now;
}

void stat_progress_settle(struct stat_progress *g)
{
	for (struct stat_lane *l; (l = g->changed);) {
		g->changed = l->next_changed;
		l->is_changed = false;
		stat_progress_keep(g, l);
	}
	for (struct stat_process *p; (p = g->changed_processes);) {
		g->changed_processes = p->next_changed;
		p->is_changed = false;
		keep_process(g, p);
	}
}

struct stat_marks stat_progress_at(struct stat_progress *g, uint64_t now_ns)
{
	stat_progress_settle(g);
	return (struct stat_marks){
		.elapsed_ns = g->elapsed_ns + g->live * now_ns,
		.gc_ns = g->gc_ns + g->stopping * now_ns,
		.minors = g->counted.minors,
		.majors = g->counted.majors,
		.words = g->counted.words,
		.has_words = g->has_words,
	};
}
