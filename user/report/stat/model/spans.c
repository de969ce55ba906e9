/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/spans.h"

#include <errno.h>

/* What begin() keeps of a span: its row, whether its begin came late, and its thread. */
#define ROW_BITS 16
#define LATE	 (1u << ROW_BITS)
#define TID_AT	 32

/* Why the length of a span is not known; STAT_CUTS: it is. */
static enum stat_cut cut_of(const struct stat_stream *s, const struct track_span *span,
			    enum track_end how)
{
	if (span->begin_ns < s->floor_ns)
		return STAT_CUT_START;
	if (how == TRACK_LOST && !s->closing)
		return STAT_CUT_LOSS;
	if (how != TRACK_ENDED && how != TRACK_OUTER)
		return STAT_CUT_END;
	return s->late || span->user & LATE ? STAT_CUT_LATE : STAT_CUTS;
}

/* Collections of all domains together: one is over when the last of them has left. */
static void begin_together(uint32_t *open, uint64_t *count, bool counts)
{
	if (!(*open)++ && counts)
		++*count;
}

static void begin_collection(struct stat_lane *l, uint32_t row, bool counts)
{
	struct stat_process *p = l->process;
	struct stat_numbers *n = &p->numbers;
	if (row == PHASE_major_gc_stw)
		begin_together(&p->majors_open, &n->majors, counts);
	else if (row == PHASE_compaction)
		begin_together(&p->compactions_open, &n->compactions, counts);
	else if (row == PHASE_minor && counts && ++l->minors > n->lane_minors)
		n->lane_minors = l->minors;
}

static inline int on_begin(void *ctx, struct track *t, struct track_span *span, unsigned depth,
			   const struct ebt_event *ev)
{
	const struct stat_sets *sets = ctx;
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = t->user;
	uint32_t row = phases_row(span->id);
	bool counts = ev->ts >= s->floor_ns;
	(void)depth;
	span->user = (uint64_t)l->pauses.clock.now.tid << TID_AT | (s->late ? row | LATE : row);
	l->process->numbers.phases[row].begun += counts;
	l->open[row]++;
	l->open_spans++;
	unsigned roles = phases_roles(row);
	if (!roles)
		return 0;
	if (roles & PHASES_STOP)
		pause_clock_begin(&l->pauses.clock, stat_stream_clip(s, span->begin_ns));
	if (roles & PHASES_COLLECTION)
		begin_collection(l, row, counts);
	return 0;
}

static inline const struct pause_thread *leave_pause(struct stat_lane *l,
						     const struct track_span *span, uint64_t end_ns)
{
	return pause_clock_end(&l->pauses.clock, (uint32_t)(span->user >> TID_AT), end_ns);
}

/* A span ends that the lane has counted as open; cut: STAT_CUTS if both its ends are known. */
static inline int end_span(const struct stat_stream *s, struct stat_lane *l,
			   const struct track_span *span, unsigned depth, uint64_t end_ns,
			   enum stat_cut cut)
{
	uint32_t row = (uint32_t)span->user & (LATE - 1);
	struct stat_phase *ph = &l->process->numbers.phases[row];
	uint64_t ns = end_ns - stat_stream_clip(s, span->begin_ns);
	if (!l->open[row])
		ph->total_ns += ns;
	if (ns > span->inner_ns)
		ph->self_ns += ns - span->inner_ns;
	if (cut != STAT_CUTS)
		ph->cut++;
	else
		ph->count++;
	if (cut == STAT_CUTS && ns > ph->max_ns)
		ph->max_ns = ns;
	if (!depth && l->pauses.certainty != PAUSES_SURE)
		l->unseen_inner_ns += ns;
	const struct pause_thread *p = phases_stop(row) ? leave_pause(l, span, end_ns) : NULL;
	return p ? pauses_add(&l->pauses, p->spent_ns, cut, s->now_ns, s->interval) : 0;
}

static inline void leave(struct stat_lane *l, uint32_t row)
{
	l->open[row]--;
	l->open_spans--;
	if (!(phases_roles(row) & PHASES_COLLECTION))
		return;
	if (row == PHASE_major_gc_stw)
		l->process->majors_open--;
	else if (row == PHASE_compaction)
		l->process->compactions_open--;
}

/* Not by its own event, or not with a length that is known. */
static __attribute__((noinline)) int end_cut(const struct stat_sets *sets, const struct track *t,
					     const struct track_span *span, unsigned depth,
					     uint64_t end_ns, enum track_end how)
{
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = t->user;
	stat_sets_wake(l); /* a loss ends the spans of lanes that sleep, too */
	stat_progress_change(sets->progress, l);
	leave(l, (uint32_t)span->user & (LATE - 1));
	if (end_ns >= s->floor_ns)
		return end_span(s, l, span, depth, end_ns, cut_of(s, span, how));
	if (phases_stop((uint32_t)span->user & (LATE - 1)))
		leave_pause(l, span, end_ns);
	return 0;
}

static inline int on_end(void *ctx, struct track *t, const struct track_span *span, unsigned depth,
			 uint64_t end_ns, enum track_end how)
{
	const struct stat_sets *sets = ctx;
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = t->user;
	if (how != TRACK_ENDED || s->late || span->user & LATE || span->begin_ns < s->floor_ns)
		return end_cut(sets, t, span, depth, end_ns, how);
	leave(l, (uint32_t)span->user);
	return end_span(s, l, span, depth, end_ns, STAT_CUTS);
}

static void on_forget(void *ctx, struct track *t)
{
	(void)ctx;
	struct stat_lane *l = t->user;
	if (l && l->track == t)
		l->track = NULL;
}

const struct tracks_visitor stat_spans_visitor = {
	.begin = on_begin, .end = on_end, .forget = on_forget};

/* An end whose begin was not seen: it has lasted since the lane became unsure. */
static __attribute__((noinline)) void end_unseen(struct stat_lane *l, uint32_t row, uint64_t now_ns)
{
	struct pauses *pauses = &l->pauses;
	struct stat_numbers *n = &l->process->numbers;
	if (pauses->certainty == PAUSES_SURE || l->open_spans) {
		n->unmatched++;
		return;
	}
	struct stat_phase *ph = &n->phases[row];
	uint64_t ns = now_ns > pauses->unsure_ns ? now_ns - pauses->unsure_ns : 0;
	ph->cut++;
	ph->total_ns += ns;
	ph->self_ns += ns > l->unseen_inner_ns ? ns - l->unseen_inner_ns : 0;
	l->unseen_inner_ns = ns;
	if (phases_stop(row))
		pauses_orphan(pauses, ns);
}

/* Finds the track of the lane, or of one of its threads, for an event. NULL: no memory. */
static __attribute__((noinline)) struct track *
find_track(const struct stat_stream *s, struct stat_lane *l, const struct ebt_event *ev)
{
	struct track *t = tracks_of(s->tracks, ev);
	if (!t)
		return NULL;
	t->user = l;
	/* Only outside of rings a lane may have more than one. */
	if (ev->pos != EBT_NO_POS)
		l->track = t;
	return t;
}

int stat_spans_push(struct stat_sets *sets, struct stat_lane *l, const struct ebt_event *ev)
{
	const struct stat_stream *s = sets->stream;
	if (ev->kind == EBT_END && !l->open[phases_row(ev->id)]) {
		if (ev->ts >= s->floor_ns)
			end_unseen(l, phases_row(ev->id), ev->ts);
		return 0;
	}
	struct track *t = ev->pos != EBT_NO_POS ? l->track : NULL;
	if (!t && !(t = find_track(s, l, ev)))
		return -ENOMEM;
	return tracks_push_inline(s->tracks, t, ev, &stat_spans_visitor, sets);
}
