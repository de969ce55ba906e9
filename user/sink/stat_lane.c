/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "sink/stat_lines.h"
#include "sink/stat_sleep.h"

/* Pauses behind a hole are held back for so long, and so many. */
#define HELD_NS	 1000000000u
#define HELD_MAX 1024 /* 4 times a power of 4 */

static uint64_t clip(const struct stat_model *m, uint64_t ns)
{
	uint64_t floor_ns = m->session->run_begin.ns;
	return ns < floor_ns ? floor_ns : ns;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct stat_lane *stat_lane_make(struct stat_process *p, const struct ebt_event *ev)
{
	bool is_thread = ev->domain == EBT_NO_DOMAIN;
	uint32_t number = is_thread ? ev->tid : ev->domain;
	bool is_new;
	struct stat_lane *l =
		ptrmap_make(&p->by_number, (uint64_t)is_thread << 32 | number, &is_new);
	if (!l || !is_new) /* its track was forgotten with the program before */
		return l;
	l->process = p;
	l->is_thread = is_thread;
	l->number = number;
	l->stopped = true; /* like one that was there before */
	l->next = p->lanes;
	p->lanes = l;
	p->lane_count++;
	return l;
}

static int compare_lanes(const void *a, const void *b)
{
	const struct stat_lane *x = *(struct stat_lane *const *)a;
	const struct stat_lane *y = *(struct stat_lane *const *)b;
	if (x->is_thread != y->is_thread)
		return x->is_thread ? 1 : -1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int stat_lanes_sort(struct stat_process *p)
{
	if (!p->lane_count)
		return 0;
	struct stat_lane **lanes = malloc(p->lane_count * sizeof(struct stat_lane *));
	if (!lanes)
		return -ENOMEM;
	uint32_t n = 0;
	for (struct stat_lane *l = p->lanes; l; l = l->next)
		lanes[n++] = l;
	qsort(lanes, n, sizeof(struct stat_lane *), compare_lanes);
	p->lanes = NULL;
	while (n) {
		lanes[--n]->next = p->lanes;
		p->lanes = lanes[n];
	}
	free(lanes);
	return 0;
}

static void become_unsure(struct stat_lane *l, uint64_t now_ns, enum stat_cut cause)
{
	l->unsure = true;
	l->unsure_cut = false;
	l->unsure_cause = cause;
	l->unsure_ns = now_ns;
	l->unsure_gc_ns = l->gc_ns;
	l->unsure_inner_ns = 0;
}

void stat_lane_open(struct stat_lane *l, uint64_t now_ns, bool sure)
{
	l->live = true;
	l->stopped = false;
	l->since_ns = later(now_ns, l->until_ns);
	l->last_ns = l->since_ns;
	l->unsure = false;
	if (!sure)
		become_unsure(l, l->since_ns, STAT_CUT_START);
}

static int add_pause(struct stat_lane *l, uint64_t ns)
{
	int err = histogram_add(&l->process->pauses.whole, ns);
	l->pauses += !err;
	return err;
}

/* What was held back are pauses. 0 or -ENOMEM. */
static int commit(struct stat_lane *l)
{
	int err = 0;
	for (uint32_t i = 0; !err && i < l->held_count; i++)
		err = add_pause(l, l->held[i]);
	l->held_count = 0;
	l->unsure = false;
	return err;
}

static int hold_pause(struct stat_model *m, struct stat_lane *l, uint64_t ns)
{
	if (l->held_count == l->held_cap && l->held_cap < HELD_MAX) {
		uint32_t cap = l->held_cap ? 4 * l->held_cap : 4; /* few lanes hold many */
		uint64_t *held = realloc(l->held, cap * sizeof(*held));
		if (!held)
			return -ENOMEM;
		l->held = held;
		l->held_cap = cap;
	}
	if (l->held_count == HELD_MAX || m->now_ns > l->unsure_ns + HELD_NS) {
		int err = commit(l);
		return err ? err : add_pause(l, ns);
	}
	l->held[l->held_count++] = ns;
	return 0;
}

/* Why a span is not known whole; STAT_CUTS: it is. */
static enum stat_cut cut_of(const struct stat_model *m, const struct track_span *s, bool late,
			    enum track_end how)
{
	if (s->begin_ns < m->session->run_begin.ns)
		return STAT_CUT_START;
	if (how == TRACK_LOST && !m->closing)
		return STAT_CUT_LOSS;
	if (how != TRACK_ENDED && how != TRACK_OUTER)
		return STAT_CUT_END;
	return late ? STAT_CUT_LATE : STAT_CUTS;
}

/* What has gone by of the pause that is open counts. */
static void spend(struct stat_lane *l, uint64_t now_ns)
{
	uint64_t ns = now_ns > l->pause_ns ? now_ns - l->pause_ns : 0;
	l->gc_ns += ns;
	l->pause_spent_ns += ns;
}

/* NULL: the thread does not wait. tid 0: a free place. */
static struct stat_waiting *find_waiting(struct stat_lane *l, uint32_t tid)
{
	for (unsigned i = 0; l->waiting && i < STAT_WAITING; i++)
		if (l->waiting[i].tid == tid)
			return &l->waiting[i];
	return NULL;
}

int stat_lane_thread(struct stat_lane *l, uint32_t tid, uint64_t now_ns)
{
	struct stat_waiting *w;
	if (l->stopping && l->tid) {
		if (!l->waiting && !(l->waiting = calloc(STAT_WAITING, sizeof(*l->waiting))))
			return -ENOMEM;
		w = find_waiting(l, 0);
		if (!w) /* more than that are one, as where nothing is known of threads */
			return 0;
		spend(l, l->last_ns);
		*w = (struct stat_waiting){l->tid, l->stopping, l->pause_spent_ns};
		l->stopping = 0;
		l->pause_spent_ns = 0;
	}
	l->tid = tid;
	w = l->stopping ? NULL : find_waiting(l, tid);
	if (!w)
		return 0;
	l->stopping = w->stopping;
	l->pause_spent_ns = w->spent_ns;
	l->pause_ns = later(now_ns, l->since_ns);
	*w = (struct stat_waiting){0};
	return 0;
}

/* Where all that is open is cut, so are the pauses of those that wait. */
static void cut_waiting(struct stat_lane *l, enum stat_cut cut)
{
	if (!l->waiting)
		return;
	struct stat_pauses *p = &l->process->pauses;
	for (unsigned i = 0; i < STAT_WAITING; i++) {
		if (!l->waiting[i].tid)
			continue;
		p->cut[cut]++;
		if (l->waiting[i].spent_ns > p->cut_max_ns)
			p->cut_max_ns = l->waiting[i].spent_ns;
		l->waiting[i] = (struct stat_waiting){0};
	}
}

static int end_pause(struct stat_model *m, struct stat_lane *l, uint64_t end_ns, enum stat_cut cut)
{
	spend(l, end_ns);
	uint64_t ns = l->pause_spent_ns;
	l->pause_spent_ns = 0;
	if (cut == STAT_CUTS) {
		/* A line does not wait until it is known whether it was a part of a longer one. */
		int err = m->interval ? histogram_add(m->interval, ns) : 0;
		if (err)
			return err;
		return l->unsure ? hold_pause(m, l, ns) : add_pause(l, ns);
	}
	l->process->pauses.cut[cut]++;
	if (ns > l->process->pauses.cut_max_ns)
		l->process->pauses.cut_max_ns = ns;
	return 0;
}

/* All domains are in it together: it is over when the last one has left. */
static void count_together(const struct stat_model *m, const struct ebt_event *ev, uint32_t *open,
			   uint64_t *count)
{
	if (!(*open)++ && ev->ts >= m->session->run_begin.ns)
		++*count;
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct stat_model *m = ctx;
	struct stat_lane *l = t->user;
	struct stat_process *p = l->process;
	uint32_t i = stat_phase_index(s->id);
	p->phases[i].begun += ev->ts >= m->session->run_begin.ns;
	l->minors += i == STAT_PHASE_minor && ev->ts >= m->session->run_begin.ns;
	if (l->minors > p->lane_minors)
		p->lane_minors = l->minors;
	l->open[i]++;
	l->open_spans++;
	uint64_t bit = 1ull << depth % 64;
	l->late[depth / 64] = m->late ? l->late[depth / 64] | bit : l->late[depth / 64] & ~bit;
	if (kinds_phase_stops(i) && !l->stopping++) {
		l->pause_ns = clip(m, s->begin_ns);
		l->pause_spent_ns = 0;
	}
	if (i == STAT_PHASE_major_gc_stw)
		count_together(m, ev, &p->majors_open, &p->majors);
	else if (i == STAT_PHASE_compaction)
		count_together(m, ev, &p->compactions_open, &p->compactions);
	return 0;
}

static void count_span(const struct stat_model *m, struct stat_lane *l, uint32_t i,
		       const struct track_span *s, uint64_t end_ns, bool whole)
{
	struct stat_phase *ph = &l->process->phases[i];
	uint64_t begin_ns = clip(m, s->begin_ns);
	uint64_t ns = end_ns - begin_ns;
	if (!l->open[i])
		ph->total_ns += ns;
	ph->self_ns += ns > s->inner_ns ? ns - s->inner_ns : 0;
	if (!whole) {
		ph->cut++;
		return;
	}
	ph->count++;
	if (ns > ph->max_ns)
		ph->max_ns = ns;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct stat_model *m = ctx;
	struct stat_lane *l = t->user;
	struct stat_process *p = l->process;
	stat_sleep_wake(l); /* its spans may end with another one's */
	stat_lines_change(m, l);
	uint32_t i = stat_phase_index(s->id);
	bool late = m->late || l->late[depth / 64] >> depth % 64 & 1;
	enum stat_cut cut = cut_of(m, s, late, how);
	bool counts = end_ns >= m->session->run_begin.ns;
	l->open[i]--;
	l->open_spans--;
	p->majors_open -= i == STAT_PHASE_major_gc_stw;
	p->compactions_open -= i == STAT_PHASE_compaction;
	if (counts)
		count_span(m, l, i, s, end_ns, cut == STAT_CUTS);
	if (!depth && l->unsure && counts)
		l->unsure_inner_ns += end_ns - later(s->begin_ns, m->session->run_begin.ns);
	/* What another thread that waits has open may be ended by a loss. */
	bool waits = l->waiting && t->tid != l->tid && find_waiting(l, t->tid);
	if (!kinds_phase_stops(i) || waits || !l->stopping || --l->stopping)
		return 0;
	if (!counts) {
		l->pause_spent_ns = 0;
		return 0;
	}
	return end_pause(m, l, end_ns, cut);
}

struct tracks_visitor stat_lane_visitor(struct stat_model *m)
{
	return (struct tracks_visitor){.begin = on_begin, .end = on_end, .ctx = m};
}

int stat_lane_close(struct stat_model *m, struct stat_lane *l, uint64_t now_ns, bool stopped)
{
	if (!l->live)
		return 0;
	uint64_t end_ns = later(now_ns, l->since_ns);
	int err = 0;
	if (l->open_spans) {
		/* What tracks know to end without an event is what a loss cuts. */
		struct ebt_event cut = {.kind = EBT_LOST,
					.process = l->process->process,
					.domain =
						l->is_thread ? EBT_NO_DOMAIN : (uint16_t)l->number,
					.tid = l->is_thread ? l->number : 0,
					.ts = end_ns,
					.pos = end_ns};
		m->closing = true;
		err = tracks_push(m->tracks, &cut);
		m->closing = false;
	}
	cut_waiting(l, STAT_CUT_END);
	l->stopping = 0;
	if (!err)
		err = commit(l);
	l->elapsed_ns += end_ns - l->since_ns;
	l->until_ns = end_ns;
	l->live = false;
	l->stopped = stopped;
	return err;
}

int stat_lane_hole(struct stat_model *m, struct stat_lane *l, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t from = later(later(since_ns, l->since_ns), l->lost_until_ns);
	if (now_ns > from)
		l->uncovered_ns += now_ns - from;
	l->lost_until_ns = later(l->lost_until_ns, now_ns);
	cut_waiting(l, STAT_CUT_LOSS);
	int err = commit(l);
	become_unsure(l, now_ns,
		      since_ns > m->session->run_begin.ns ? STAT_CUT_LOSS : STAT_CUT_START);
	return err;
}

void stat_lane_orphan(struct stat_lane *l, uint32_t phase, uint64_t now_ns)
{
	struct stat_process *p = l->process;
	if (!l->unsure || l->open_spans) {
		p->unmatched++;
		return;
	}
	struct stat_phase *ph = &p->phases[phase];
	uint64_t ns = now_ns > l->unsure_ns ? now_ns - l->unsure_ns : 0;
	ph->cut++;
	ph->total_ns += ns;
	ph->self_ns += ns > l->unsure_inner_ns ? ns - l->unsure_inner_ns : 0;
	l->unsure_inner_ns = ns;
	if (!kinds_phase_stops(phase))
		return;
	/* What has been a pause since then was a part of this one. */
	l->held_count = 0;
	l->gc_ns = l->unsure_gc_ns + ns;
	if (!l->unsure_cut)
		p->pauses.cut[l->unsure_cause]++;
	l->unsure_cut = true;
	if (ns > p->pauses.cut_max_ns)
		p->pauses.cut_max_ns = ns;
}
