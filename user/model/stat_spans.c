/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/stat_spans.h"

/* Why the length of a span is not known; STAT_CUTS: it is. */
static enum stat_cut cut_of(const struct stat_stream *s, const struct track_span *span, bool late,
			    enum track_end how)
{
	if (span->begin_ns < stat_stream_floor(s))
		return STAT_CUT_START;
	if (how == TRACK_LOST && !s->closing)
		return STAT_CUT_LOSS;
	if (how != TRACK_ENDED && how != TRACK_OUTER)
		return STAT_CUT_END;
	return late ? STAT_CUT_LATE : STAT_CUTS;
}

/* All domains are in it together: it is over when the last one has left. */
static void count_together(uint32_t *open, uint64_t *count, bool counts)
{
	if (!(*open)++ && counts)
		++*count;
}

static int on_begin(void *ctx, struct track *t, struct track_span *span, unsigned depth,
		    const struct ebt_event *ev)
{
	const struct stat_sets *sets = ctx;
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = ptrarray_get(&s->lanes, t->lane);
	struct stat_process *p = l->process;
	struct stat_numbers *n = &p->numbers;
	uint32_t row = phases_row(span->id);
	bool counts = ev->ts >= stat_stream_floor(s);
	n->phases[row].begun += counts;
	l->open[row]++;
	l->open_spans++;
	uint64_t bit = 1ull << depth % 64;
	l->late[depth / 64] = s->late ? l->late[depth / 64] | bit : l->late[depth / 64] & ~bit;
	if (phases_stop(row))
		pauses_begin(&l->pauses, stat_stream_clip(s, span->begin_ns));
	switch (row) {
	case PHASE_minor:
		l->minors += counts;
		if (l->minors > n->lane_minors)
			n->lane_minors = l->minors;
		break;
	case PHASE_major_gc_stw:
		count_together(&p->majors_open, &n->majors, counts);
		break;
	case PHASE_compaction:
		count_together(&p->compactions_open, &n->compactions, counts);
		break;
	default:
		break;
	}
	return 0;
}

static void count_span(const struct stat_stream *s, const struct stat_lane *l, uint32_t row,
		       const struct track_span *span, uint64_t end_ns, bool whole)
{
	struct stat_phase *ph = &l->process->numbers.phases[row];
	uint64_t ns = end_ns - stat_stream_clip(s, span->begin_ns);
	if (!l->open[row])
		ph->total_ns += ns;
	ph->self_ns += ns > span->inner_ns ? ns - span->inner_ns : 0;
	if (!whole) {
		ph->cut++;
		return;
	}
	ph->count++;
	if (ns > ph->max_ns)
		ph->max_ns = ns;
}

static int on_end(void *ctx, struct track *t, const struct track_span *span, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	const struct stat_sets *sets = ctx;
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = ptrarray_get(&s->lanes, t->lane);
	struct stat_process *p = l->process;
	if (how != TRACK_ENDED) { /* a loss ends the spans of lanes that sleep, too */
		stat_sets_wake(l);
		stat_progress_change(sets->progress, l);
	}
	uint32_t row = phases_row(span->id);
	bool late = s->late || l->late[depth / 64] >> depth % 64 & 1;
	enum stat_cut cut = cut_of(s, span, late, how);
	bool counts = end_ns >= stat_stream_floor(s);
	l->open[row]--;
	l->open_spans--;
	p->majors_open -= row == PHASE_major_gc_stw;
	p->compactions_open -= row == PHASE_compaction;
	if (counts)
		count_span(s, l, row, span, end_ns, cut == STAT_CUTS);
	if (!depth && l->pauses.certainty != PAUSES_SURE && counts)
		l->unseen_inner_ns += end_ns - stat_stream_clip(s, span->begin_ns);
	if (!phases_stop(row) || !pauses_leave(&l->pauses, t->tid))
		return 0;
	if (counts)
		return pauses_end(&l->pauses, end_ns, cut, s->now_ns, s->interval);
	pauses_drop(&l->pauses);
	return 0;
}

struct tracks_visitor stat_spans_visitor(struct stat_sets *sets)
{
	return (struct tracks_visitor){.begin = on_begin, .end = on_end, .ctx = sets};
}

/* An end whose begin was not seen: it has lasted since the lane became unsure. */
static void end_unseen(struct stat_lane *l, uint32_t row, uint64_t now_ns)
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

int stat_spans_push(const struct stat_stream *s, struct stat_lane *l, const struct ebt_event *ev)
{
	uint32_t row = phases_row(ev->id);
	if (ev->kind == EBT_BEGIN || l->open[row])
		return tracks_push(s->tracks, ev);
	if (ev->ts >= stat_stream_floor(s))
		end_unseen(l, row, ev->ts);
	return 0;
}
