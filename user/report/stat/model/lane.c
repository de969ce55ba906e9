/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/lane.h"

#include <errno.h>
#include <stdlib.h>

/* ---- the lanes of a process ---- */

struct stat_lane *stat_lane_make(struct stat_stream *s, struct stat_process *p,
				 const struct ebt_event *ev)
{
	bool is_new;
	uint32_t lane = processes_lane_of(&s->session->processes, ev);
	struct stat_lane *l = lane ? ptrarray_make(&s->lanes, lane, &is_new) : NULL;
	if (!l || !is_new)
		return l;
	l->process = p;
	l->lane = lane;
	l->is_thread = ev->domain == EBT_NO_DOMAIN;
	l->number = l->is_thread ? ev->tid : ev->domain;
	l->pauses.sum = &p->numbers.pauses;
	l->next = p->lanes;
	p->lanes = l;
	p->lane_count++;
	return l;
}

void stat_lanes_release(struct stat_stream *s, const struct stat_process *p)
{
	for (struct stat_lane *l = p->lanes; l; l = l->next) {
		ptrarray_remove(&s->lanes, l->lane);
		l->lane = 0;
	}
}

static void drop_tallied(struct stat_lane *l)
{
	if (l->tallied)
		histogram_done(l->tallied);
	free(l->tallied);
	l->tallied = NULL;
}

int stat_lane_hold_tallied(struct stat_lane *l, struct histogram *held)
{
	drop_tallied(l);
	if (!held->count)
		return 0;
	l->tallied = malloc(sizeof(*l->tallied));
	if (!l->tallied)
		return -ENOMEM;
	*l->tallied = *held;
	*held = (struct histogram){0};
	return 0;
}

int stat_lane_add_tallied(struct stat_lane *l, struct histogram *sum)
{
	if (!l->tallied)
		return 0;
	l->pauses.count += l->tallied->count;
	return histogram_merge(sum, l->tallied);
}

void stat_lanes_free(struct stat_process *p)
{
	for (struct stat_lane *l = p->lanes, *next; l; l = next) {
		next = l->next;
		pauses_done(&l->pauses);
		drop_tallied(l);
		free(l);
	}
	p->lanes = NULL;
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

/* ---- the time of one ---- */

static void become_unsure(struct stat_lane *l, uint64_t now_ns, enum stat_cut cause)
{
	pauses_unsure(&l->pauses, now_ns, cause);
	l->unseen_inner_ns = 0;
}

void stat_lane_open(struct stat_lane *l, uint64_t now_ns, bool sure)
{
	l->state = STAT_LANE_LIVE;
	l->since_ns = stat_stream_later(now_ns, l->until_ns);
	l->last_ns = l->since_ns;
	if (sure)
		l->pauses.certainty = PAUSES_SURE;
	else
		become_unsure(l, l->since_ns, STAT_CUT_START);
}

/* What tracks know to end without an event is what a loss cuts. */
static int cut_spans(struct stat_stream *s, const struct stat_lane *l, uint64_t end_ns)
{
	struct ebt_event cut = {.kind = EBT_LOST,
				.process = l->process->process,
				.domain = l->is_thread ? EBT_NO_DOMAIN : (uint16_t)l->number,
				.tid = l->is_thread ? l->number : 0,
				.ts = end_ns,
				.pos = end_ns};
	s->closing = true;
	int err = tracks_push(s->tracks, &cut);
	s->closing = false;
	return err;
}

int stat_lane_leave(struct stat_lane *l, uint64_t end_ns, enum stat_lane_state state)
{
	int err = pauses_settle(&l->pauses);
	l->elapsed_ns += end_ns - l->since_ns;
	l->until_ns = end_ns;
	l->state = state;
	return err;
}

int stat_lane_close(struct stat_stream *s, struct stat_lane *l, uint64_t now_ns,
		    enum stat_lane_state state)
{
	if (l->state != STAT_LANE_LIVE)
		return 0;
	uint64_t end_ns = stat_stream_later(now_ns, l->since_ns);
	int err = l->open_spans ? cut_spans(s, l, end_ns) : 0;
	return err ? err : stat_lane_leave(l, end_ns, state);
}

int stat_lane_hole(const struct stat_stream *s, struct stat_lane *l, uint64_t since_ns,
		   uint64_t now_ns)
{
	uint64_t from =
		stat_stream_later(stat_stream_later(since_ns, l->since_ns), l->lost_until_ns);
	if (now_ns > from)
		l->uncovered_ns += now_ns - from;
	l->lost_until_ns = stat_stream_later(l->lost_until_ns, now_ns);
	if (now_ns > l->last_ns)
		l->last_ns = now_ns;
	int err = pauses_settle(&l->pauses);
	become_unsure(l, now_ns, since_ns > s->floor_ns ? STAT_CUT_LOSS : STAT_CUT_START);
	return err;
}

/* ---- transitions ---- */

enum action {
	NOTHING,
	OPEN_EARLY, /* since recording began; a thread, as open_thread() */
	OPEN_HERE,
	OPEN_SURE,
	END_LAST_OPEN, /* ended at its last event, then OPEN_SURE */
	END_HERE,
	OPEN_END,  /* OPEN_EARLY, then END_HERE */
	OPEN_HOLE, /* since the begin of the loss, then HOLE */
	HOLE,
};

static const enum action transitions[2 /* is_thread */][STAT_LANE_ENDED + 1][STAT_LANE_EVENTS] = {
	/* begins, other, terminates, spawns, starts, loses */
	{[STAT_LANE_STOPPED] = {OPEN_EARLY, OPEN_EARLY, OPEN_END, OPEN_SURE, OPEN_HERE, OPEN_HOLE},
	 [STAT_LANE_LIVE] = {NOTHING, NOTHING, END_HERE, END_LAST_OPEN, NOTHING, HOLE},
	 [STAT_LANE_ENDED] = {OPEN_HERE, NOTHING, NOTHING, OPEN_SURE, OPEN_HERE, OPEN_HOLE}},
	{[STAT_LANE_STOPPED] = {OPEN_EARLY, OPEN_EARLY, OPEN_END, OPEN_SURE, OPEN_HERE, NOTHING},
	 [STAT_LANE_LIVE] = {NOTHING, NOTHING, END_HERE, END_LAST_OPEN, NOTHING, NOTHING},
	 [STAT_LANE_ENDED] = {OPEN_EARLY, OPEN_EARLY, OPEN_END, OPEN_SURE, OPEN_HERE, NOTHING}},
};

/* What of its time was not watched is a hole. */
static int open_watched(const struct stat_stream *s, struct stat_lane *l, uint64_t from_ns)
{
	const struct stat_process *p = l->process;
	stat_lane_open(l, from_ns, false);
	bool unseen = !l->in_ring && p->unwatched_ns > l->since_ns;
	return unseen ? stat_lane_hole(s, l, p->unwatched_since_ns, p->unwatched_ns) : 0;
}

static int open_early(const struct stat_stream *s, struct stat_lane *l, uint64_t now_ns)
{
	const struct stat_process *p = l->process;
	/* The first thread is as old as its process. */
	bool early = !l->is_thread || (p->begun && l->number == p->pid && !l->until_ns);
	return open_watched(s, l, early ? p->recorded_from_ns : now_ns);
}

/* What was lost may have been its begin. */
static int open_hole(const struct stat_stream *s, struct stat_lane *l, uint64_t since_ns,
		     uint64_t now_ns)
{
	struct stat_process *p = l->process;
	uint64_t from = stat_stream_later(since_ns, p->recorded_from_ns);
	if (!p->recording)
		p->recorded_from_ns = from;
	p->recording = true;
	stat_lane_open(l, from, false);
	return stat_lane_hole(s, l, since_ns, now_ns);
}

static int step(struct stat_stream *s, struct stat_lane *l, enum stat_lane_event event,
		uint64_t since_ns, uint64_t ns)
{
	bool needs_recording = event <= STAT_LANE_TERMINATES && !l->is_thread;
	int err = 0;
	if (needs_recording && l->state != STAT_LANE_LIVE && !l->process->recording)
		return 0;
	switch (transitions[l->is_thread][l->state][event]) {
	case NOTHING:
		return 0;
	case OPEN_EARLY:
		return open_early(s, l, ns);
	case OPEN_HERE:
		if (event == STAT_LANE_BEGINS)
			return open_watched(s, l, ns);
		stat_lane_open(l, ns, false);
		return 0;
	case END_LAST_OPEN:
		err = stat_lane_close(s, l, l->last_ns, STAT_LANE_ENDED);
		/* fall through */
	case OPEN_SURE:
		stat_lane_open(l, ns, true);
		return err;
	case OPEN_END:
		err = open_early(s, l, ns);
		/* fall through */
	case END_HERE:
		return err ? err : stat_lane_close(s, l, ns, STAT_LANE_ENDED);
	case OPEN_HOLE:
		return open_hole(s, l, since_ns, ns);
	case HOLE:
		return stat_lane_hole(s, l, since_ns, ns);
	}
	return 0;
}

int stat_lane_step(struct stat_stream *s, struct stat_lane *l, enum stat_lane_event event,
		   uint64_t since_ns, uint64_t ns)
{
	int err = step(s, l, event, since_ns, ns);
	if (!l->unsure_first_ns)
		l->unsure_first_ns = l->pauses.unsure_ns;
	return err;
}
