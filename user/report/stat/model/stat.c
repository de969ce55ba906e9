/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/stat.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "report/parts/ids.h"
#include "report/stat/model/lane.h"
#include "report/stat/model/mutator.h"
#include "report/stat/model/sets.h"
#include "session/kinds.h"
#include "stream/loss.h"

/*
 * The processes that were released and still have numbers of their own: those with the most GC
 * time, the older ones first among equals. A heap: its first entry has the least GC time. It owns
 * none of them.
 */

static void stat_ended_done(struct stat_ended *e)
{
	free(e->heap);
}

static bool is_less(const struct stat_process *a, const struct stat_process *b)
{
	if (a->numbers.gc_ns != b->numbers.gc_ns)
		return a->numbers.gc_ns < b->numbers.gc_ns;
	return a->number > b->number;
}

/* Adds a process with final numbers. 0 or -ENOMEM. */
static int stat_ended_add(struct stat_ended *e, struct stat_process *p)
{
	if (!array_reserve(e->heap, e->cap, e->count))
		return -ENOMEM;
	uint32_t i = e->count++;
	for (; i && is_less(p, e->heap[(i - 1) / 2]); i = (i - 1) / 2)
		e->heap[i] = e->heap[(i - 1) / 2];
	e->heap[i] = p;
	return 0;
}

/* Removes the one with the least GC time; NULL: there are none. */
static struct stat_process *stat_ended_take_least(struct stat_ended *e)
{
	if (!e->count)
		return NULL;
	struct stat_process *least = e->heap[0], *last = e->heap[--e->count];
	uint32_t i = 0;
	for (uint32_t child; (child = 2 * i + 1) < e->count; i = child) {
		if (child + 1 < e->count && is_less(e->heap[child + 1], e->heap[child]))
			child++;
		if (!is_less(e->heap[child], last))
			break;
		e->heap[i] = e->heap[child];
	}
	e->heap[i] = last;
	return least;
}

/*
 * The phases of lanes as numbers of their processes: how many, how long, collections that all
 * domains are in together. stream/tracks pairs begins and ends; phases that stop the mutator are
 * reported to the pauses of their lane.
 */

/* What begin() keeps of a span: its row, whether its begin came late, what its end must know of the
 * phase, and its thread. */
#define ROW_MASK   0xffffu
#define LATE	   0x10000u
#define STOPS	   0x20000u
#define CYCLE	   0x40000u
#define COMPACTION 0x80000u
#define TID_AT	   32

static inline uint32_t flags_of(const struct traits_phase *p)
{
	return (p->stop != TRAITS_RUNS ? STOPS : 0) | (p->roles & TRAITS_CYCLE ? CYCLE : 0) |
	       (p->roles & TRAITS_COMPACTION ? COMPACTION : 0);
}

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

static void begin_collection(struct stat_lane *l, unsigned roles, bool counts)
{
	struct stat_process *p = l->process;
	struct stat_numbers *n = &p->numbers;
	if (roles & TRAITS_CYCLE)
		begin_together(&p->majors_open, &n->majors, counts);
	else if (roles & TRAITS_COMPACTION)
		begin_together(&p->compactions_open, &n->compactions, counts);
	else if (roles & TRAITS_MINOR && counts && ++l->minors > n->lane_minors)
		n->lane_minors = l->minors;
}

static inline int on_begin(void *ctx, struct track *t, struct track_span *span, unsigned depth,
			   const struct ebt_event *ev)
{
	const struct stat_sets *sets = ctx;
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = t->user;
	uint32_t row = phases_row(span->id);
	const struct traits_phase *phase = phases_at(row);
	bool counts = ev->ts >= s->floor_ns;
	(void)depth;
	span->user = (uint64_t)l->pauses.clock.now.tid << TID_AT | flags_of(phase) |
		     (s->late ? row | LATE : row);
	l->process->numbers.phases[row].begun += counts;
	l->open[row]++;
	l->open_spans++;
	if (phase->stop != TRAITS_RUNS)
		pause_clock_begin(&l->pauses.clock, stat_stream_clip(s, span->begin_ns));
	if (phase->roles & TRAITS_COLLECTIONS)
		begin_collection(l, phase->roles, counts);
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
	uint32_t row = (uint32_t)span->user & ROW_MASK;
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
	const struct pause_thread *p = span->user & STOPS ? leave_pause(l, span, end_ns) : NULL;
	if (!p)
		return 0;
	if (p->spent_ns > l->process->longest_ns)
		l->process->longest_ns = p->spent_ns;
	return pauses_add(&l->pauses, p->spent_ns, cut, s->now_ns, s->interval);
}

static inline void leave(struct stat_lane *l, const struct track_span *span)
{
	l->open[span->user & ROW_MASK]--;
	l->open_spans--;
	if (!(span->user & (CYCLE | COMPACTION)))
		return;
	if (span->user & CYCLE)
		l->process->majors_open--;
	else
		l->process->compactions_open--;
}

/* A span that is open ends, as far as its lane, or a copy of the lane, is concerned. */
static int cut_span(const struct stat_stream *s, struct stat_lane *l, const struct track_span *span,
		    unsigned depth, uint64_t end_ns, enum track_end how)
{
	leave(l, span);
	if (end_ns >= s->floor_ns)
		return end_span(s, l, span, depth, end_ns, cut_of(s, span, how));
	if (span->user & STOPS)
		leave_pause(l, span, end_ns);
	return 0;
}

/* Ends a span without an end event, or without a known length. */
static __attribute__((noinline)) int end_cut(const struct stat_sets *sets, const struct track *t,
					     const struct track_span *span, unsigned depth,
					     uint64_t end_ns, enum track_end how)
{
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = t->user;
	if (l->process->is_final)
		return 0;
	stat_sets_wake(l); /* a loss ends the spans of lanes that sleep, too */
	stat_progress_change(sets->progress, l);
	return cut_span(s, l, span, depth, end_ns, how);
}

static inline int on_end(void *ctx, struct track *t, const struct track_span *span, unsigned depth,
			 uint64_t end_ns, enum track_end how)
{
	const struct stat_sets *sets = ctx;
	const struct stat_stream *s = sets->stream;
	struct stat_lane *l = t->user;
	if (how != TRACK_ENDED || s->late || span->user & LATE || span->begin_ns < s->floor_ns)
		return end_cut(sets, t, span, depth, end_ns, how);
	leave(l, span);
	return end_span(s, l, span, depth, end_ns, STAT_CUTS);
}

static void on_forget(void *ctx, struct track *t)
{
	(void)ctx;
	struct stat_lane *l = t->user;
	if (l && l->track == t)
		l->track = NULL;
}

/* For the tracks of the stream, with the lane of each as its `user` and the sets as context. */
static const struct tracks_visitor stat_spans_visitor = {
	.begin = on_begin, .end = on_end, .forget = on_forget};

/* An end without a begin: its phase has lasted since the lane became unsure. */
static __attribute__((noinline)) int end_unseen(struct stat_lane *l, uint32_t row, uint64_t now_ns)
{
	struct pauses *pauses = &l->pauses;
	struct stat_numbers *n = &l->process->numbers;
	if (pauses->certainty == PAUSES_SURE || l->open_spans) {
		n->unmatched++;
		return 0;
	}
	struct stat_phase *ph = &n->phases[row];
	uint64_t ns = now_ns > pauses->unsure_ns ? now_ns - pauses->unsure_ns : 0;
	ph->cut++;
	ph->total_ns += ns;
	ph->self_ns += ns > l->unseen_inner_ns ? ns - l->unseen_inner_ns : 0;
	l->unseen_inner_ns = ns;
	if (!phases_stop(row))
		return 0;
	pauses_orphan(pauses, ns);
	return stat_mutator_forget(l, now_ns);
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

/* An EBT_BEGIN or EBT_END of a lane that is LIVE and BUSY. 0 or -ENOMEM. */
static int stat_spans_push(struct stat_sets *sets, struct stat_lane *l, const struct ebt_event *ev)
{
	const struct stat_stream *s = sets->stream;
	if (ev->kind == EBT_END && !l->open[phases_row(ev->id)]) {
		bool counts = ev->ts >= s->floor_ns;
		return counts ? end_unseen(l, phases_row(ev->id), ev->ts) : 0;
	}
	struct track *t = ev->pos != EBT_NO_POS ? l->track : NULL;
	if (!t && !(t = find_track(s, l, ev)))
		return -ENOMEM;
	return tracks_push_inline(s->tracks, t, ev, &stat_spans_visitor, sets);
}

/* The counters of a lane as numbers of its process: words allocated and promoted, the heap. */

static void add_words(struct stat_words *w, uint64_t words)
{
	w->seen = true;
	w->words += words;
}

/* A domain may count its part of the heap, some versions only at the end of a major cycle, or the
 * whole heap (heap_is_by_domain). */
static uint64_t heap_of(const struct stat_lane *l)
{
	return l->heap_words ? l->heap_words : l->pool_words + l->large_words;
}

static void set_heap(struct stat_lane *l, uint64_t *ret_last, uint64_t words)
{
	struct stat_process *p = l->process;
	struct stat_numbers *n = &p->numbers;
	*ret_last = words;
	p->heap_sum += heap_of(l) - l->heap_counted;
	l->heap_counted = heap_of(l);
	uint64_t sum = p->heap_is_by_domain ? p->heap_sum : l->heap_counted;
	n->heap = (struct stat_words){true, sum};
	n->heap_max.seen = true;
	if (sum > n->heap_max.words)
		n->heap_max.words = sum;
}

/* Adds an EBT_COUNTER event. */
static void stat_counters_add(struct stat_lane *l, const struct ebt_event *ev)
{
	struct stat_numbers *n = &l->process->numbers;
	switch (ev->id) {
	case COUNTER_minor_allocated:
		add_words(&n->minor_bytes, ev->arg[0]);
		break;
	case COUNTER_minor_promoted:
		add_words(&n->promoted_bytes, ev->arg[0]);
		break;
	case COUNTER_minor_allocated_words:
		add_words(&n->minor_words, ev->arg[0]);
		break;
	case COUNTER_minor_promoted_words:
		add_words(&n->promoted_words, ev->arg[0]);
		break;
	case COUNTER_major_allocated_words:
		add_words(&n->major_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_words:
		set_heap(l, &l->heap_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_pool_words:
		set_heap(l, &l->pool_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_large_words:
		set_heap(l, &l->large_words, ev->arg[0]);
		break;
	default:
		break;
	}
}

/* The lane's domain has ended: its part of the heap is no longer its own. */
static void stat_counters_leave(struct stat_lane *l)
{
	l->heap_words = l->pool_words = l->large_words = 0;
	l->process->heap_sum -= l->heap_counted;
	l->heap_counted = 0;
}

int stat_model_init(struct stat_model *m, const struct session *s, uint32_t own)
{
	*m = (struct stat_model){.stream = {.session = s},
				 .processes = {.stream = &m->stream},
				 .own_max = own > STAT_OWN ? own : STAT_OWN};
	int err = stat_sets_init(&m->sets, &m->stream, &m->progress);
	if (!err)
		err = tracks_new(&s->processes, &stat_spans_visitor, &m->sets, &m->stream.tracks);
	if (!err)
		tracks_by_thread(m->stream.tracks);
	return err;
}

void stat_model_done(struct stat_model *m)
{
	tracks_free(m->stream.tracks); /* which refer to lanes */
	for (struct stat_process *p = m->processes.first; p; p = p->next) {
		stat_sets_forget(p);
		stat_mutator_free(p);
		stat_lanes_free(p);
	}
	stat_processes_done(&m->processes);
	stat_programs_done(&m->programs);
	stat_ended_done(&m->ended);
	ptrarray_done(&m->stream.lanes);
	stat_sets_done(&m->sets);
}

void stat_model_count_intervals(struct stat_model *m, struct histogram *pauses)
{
	m->stream.interval = pauses;
	m->progress.on = true;
}

static uint64_t moment_of(const struct stat_model *m, const struct ebt_event *ev)
{
	return stat_stream_clip(&m->stream, ev->ts);
}

/* NULL: no memory. */
static __attribute__((noinline)) struct stat_lane *make_lane(struct stat_model *m,
							     const struct ebt_event *ev)
{
	struct stat_process *p = stat_processes_make(&m->processes, ev);
	return p ? stat_lane_make(&m->stream, p, ev) : NULL;
}

static inline struct stat_lane *lane_of(struct stat_model *m, const struct ebt_event *ev)
{
	const struct stat_stream *s = &m->stream;
	uint32_t lane = processes_lane_of(&s->session->processes, ev);
	struct stat_lane *l = ptrarray_get(&s->lanes, lane);
	return l ? l : make_lane(m, ev);
}

static inline bool is_of_same_domain(const struct ebt_event *a, const struct ebt_event *b)
{
	return a->process == b->process && a->domain == b->domain && a->domain != EBT_NO_DOMAIN;
}

/* ---- lifecycles ---- */

static int start_recording(struct stat_model *m, struct stat_lane *l, uint64_t now_ns, bool resume)
{
	struct stat_process *p = l->process;
	int err = 0;
	/* The end of the recording before was not seen: it is assumed at the last events. */
	if (p->recording && (resume || l->state == STAT_LANE_LIVE)) {
		stat_mutator_stop(p, p->last_ns);
		err = stat_sets_stop(&m->sets, p, 0, false);
	}
	p->recording = true;
	p->recorded_from_ns = now_ns;
	if (resume)
		stat_sets_resume(p, now_ns);
	stat_sets_wake(l);
	return err ? err : stat_lane_step(&m->stream, l, STAT_LANE_STARTS, 0, now_ns);
}

static __attribute__((noinline)) int on_lifecycle(struct stat_model *m, struct stat_lane *l,
						  const struct ebt_event *ev)
{
	uint64_t now = moment_of(m, ev);
	int err;
	switch (ev->id) {
	case LIFECYCLE_ring_start:
	case LIFECYCLE_ring_resume:
		return start_recording(m, l, now, ev->id == LIFECYCLE_ring_resume);
	case LIFECYCLE_ring_stop:
	case LIFECYCLE_ring_pause:
		err = stat_lane_step(&m->stream, l, STAT_LANE_OTHER, 0, now);
		l->process->recording = false;
		stat_mutator_stop(l->process, now);
		return err ? err : stat_sets_stop(&m->sets, l->process, now, false);
	case LIFECYCLE_domain_spawn:
		return stat_lane_step(&m->stream, l, STAT_LANE_SPAWNS, 0, now);
	case LIFECYCLE_domain_terminate:
		err = stat_lane_step(&m->stream, l, STAT_LANE_TERMINATES, 0, now);
		stat_counters_leave(l);
		return err;
	default:
		return stat_lane_step(&m->stream, l, STAT_LANE_OTHER, 0, now);
	}
}

/* ---- losses, damage, processes ---- */

/* A loss of one domain, which may be the first sign of it. */
static int lose_lane(struct stat_model *m, const struct ebt_event *ev, uint64_t since_ns)
{
	struct stat_lane *l = lane_of(m, ev);
	uint64_t now = moment_of(m, ev);
	if (!l || stat_sets_use(&m->sets, l, l->in_ring))
		return -ENOMEM;
	int err = tracks_push(m->stream.tracks, ev);
	stat_loss_count(&l->lost, ev);
	stat_loss_count(&l->process->numbers.lost, ev);
	l->process->last_ns = now;
	if (!err)
		err = stat_mutator_hole_lane(l, since_ns, now);
	if (!err)
		err = stat_lane_step(&m->stream, l, STAT_LANE_LOSES, since_ns, now);
	return err || !m->has_mutators ? err : stat_mutator_follow(&m->room, l, now);
}

/* A loss without a domain concerns all lanes of its process that no ring holds; a loss without a
 * process, those of all processes. */
static int on_loss(struct stat_model *m, const struct ebt_event *ev)
{
	struct ebt_event cut = *ev;
	if (cut.pos > cut.ts)
		cut.pos = cut.ts;
	uint64_t since = EBT_LOST_SINCE(&cut), now = moment_of(m, ev);
	if (ev->domain != EBT_NO_DOMAIN)
		return lose_lane(m, &cut, since);
	int err = tracks_push(m->stream.tracks, &cut);
	if (err)
		return err;
	bool anywhere = EBT_LOST_ANYWHERE(ev);
	if (!ev->process) {
		err = stat_mutator_hole_all(&m->room, anywhere, since, now);
		return err ? err : stat_sets_hole_all(&m->sets, anywhere, since, now);
	}
	if (loss_is_unwatched(ev) && !stat_processes_unwatched(&m->processes, ev, since))
		return -ENOMEM;
	struct stat_process *p = stat_processes_find(&m->processes, ev->process);
	if (!p)
		return 0;
	stat_loss_count(&p->numbers.lost, ev);
	err = stat_mutator_hole(p, anywhere, since, now);
	return err ? err : stat_sets_hole(&m->sets, p, anywhere, since, now);
}

static int on_process(struct stat_model *m, const struct ebt_event *ev)
{
	uint64_t now = moment_of(m, ev);
	if (ev->id == EBT_PROCESS_FORK)
		return stat_processes_birth(&m->processes, (uint32_t)ev->arg[0], now);
	struct stat_process *p = stat_processes_find(&m->processes, ev->process);
	uint32_t pid = processes_pid(&m->stream.session->processes, ev->process);
	if (!p && ev->id == EBT_PROCESS_EXEC)
		return stat_processes_birth(&m->processes, pid, now);
	if (!p) {
		stat_processes_dead(&m->processes, pid);
		return 0;
	}
	stat_mutator_stop(p, now);
	int err = stat_sets_stop(&m->sets, p, now, true);
	stat_processes_change(&m->processes, p, now, ev->id);
	return err ? err : tracks_push(m->stream.tracks, ev);
}

/* ---- events ---- */

/* The kinds of events of a domain or thread. */
#define EBT_KIND_DEF(value, KIND, name, family, ...) \
	| (uint64_t)(KINDS_##family == KINDS_runtime || KINDS_##family == KINDS_user) << (value)
static const uint64_t of_lanes = 0
#include <ebtrace/events.def>
	;

/* Whether the event finds the lane as the one before left it: nearly all do. */
static inline bool is_plain(const struct stat_model *m, const struct stat_lane *l,
			    const struct ebt_event *ev)
{
	return l->state == STAT_LANE_LIVE && stat_sets_is_busy(l, ev->pos != EBT_NO_POS) &&
	       (!ev->tid || ev->tid == l->pauses.clock.now.tid) && !m->stream.late &&
	       !m->progress.on && !m->has_mutators;
}

/* The lane's time is another thread's from here on. 0 or -ENOMEM. */
static int switch_thread(struct stat_model *m, struct stat_lane *l, uint32_t tid)
{
	uint64_t now_ns = stat_stream_later(m->stream.now_ns, l->since_ns);
	int err = pause_clock_switch(&l->pauses.clock, tid, l->last_ns, now_ns);
	if (err < 0)
		return err;
	return m->has_mutators ? stat_mutator_follow(&m->room, l, l->last_ns) : 0;
}

/* Prepares the lane for any other event. */
static __attribute__((noinline)) int prepare(struct stat_model *m, struct stat_lane *l,
					     const struct ebt_event *ev)
{
	struct stat_stream *s = &m->stream;
	if (stat_sets_use(&m->sets, l, ev->pos != EBT_NO_POS))
		return -ENOMEM;
	int err = 0;
	l->process->numbers.late += s->late;
	if (ev->tid && ev->tid != l->pauses.clock.now.tid)
		err = switch_thread(m, l, ev->tid);
	if (err)
		return err;
	if (ev->kind == EBT_LIFECYCLE || l->state == STAT_LANE_LIVE)
		return 0;
	return stat_lane_step(s, l, ev->kind == EBT_BEGIN ? STAT_LANE_BEGINS : STAT_LANE_OTHER, 0,
			      s->now_ns);
}

static inline int on_event(struct stat_model *m, struct stat_lane *l, const struct ebt_event *ev)
{
	const struct stat_stream *s = &m->stream;
	if (!l)
		return -ENOMEM;
	int err = is_plain(m, l, ev) ? 0 : prepare(m, l, ev);
	if (err)
		return err;
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		if (l->state == STAT_LANE_LIVE)
			err = stat_spans_push(&m->sets, l, ev);
		break;
	case EBT_COUNTER:
		if (ev->ts >= s->floor_ns)
			stat_counters_add(l, ev);
		break;
	case EBT_LIFECYCLE:
		err = on_lifecycle(m, l, ev);
		stat_sets_wake(l);
		break;
	default:
		break;
	}
	l->last_ns = s->now_ns;
	l->process->last_ns = s->now_ns;
	return err || !m->has_mutators ? err : stat_mutator_follow(&m->room, l, s->now_ns);
}

/* An event of the tracing itself. */
static __attribute__((noinline)) int on_stream(struct stat_model *m, const struct ebt_event *ev)
{
	struct stat_process *p;
	switch (ev->kind) {
	case EBT_LOST:
		return on_loss(m, ev);
	case EBT_PROCESS:
		return on_process(m, ev);
	case EBT_DAMAGE:
		p = stat_processes_find(&m->processes, ev->process);
		if (p)
			p->numbers.damaged++;
		return 0;
	default:
		return 0;
	}
}

int stat_model_events(struct stat_model *m, const struct ebt_event *ev, size_t n)
{
	struct stat_stream *s = &m->stream;
	struct stat_lane *l = NULL; /* of the event before; NULL: of none */
	int err = 0;
	s->floor_ns = s->session->run_begin.ns;
	/* Damage found before the first event has no time. */
	for (size_t i = 0; i < n && !m->first.known; i++)
		if (ev[i].ts || ev[i].kind != EBT_DAMAGE)
			m->first = moment_at(stat_stream_clip(s, ev[i].ts));
	for (const struct ebt_event *end = ev + n; ev < end && !err; ev++) {
		s->now_ns = stat_stream_clip(s, ev->ts);
		s->late = ev->flags & EBT_F_LATE;
		if (kinds_bit(ev->kind) & of_lanes) {
			l = l && is_of_same_domain(ev, ev - 1) ? l : lane_of(m, ev);
			err = on_event(m, l, ev);
		} else {
			l = NULL;
			err = on_stream(m, ev);
		}
	}
	return err;
}

/* ---- the end ---- */

struct ending {
	const struct stat_stream *stream;
	struct stat_lane *lane; /* or a copy */
};

/* An open span ends with the time of its lane. */
static int on_open(void *ctx, const struct track *t, const struct track_span *span, unsigned depth,
		   uint64_t end_ns)
{
	const struct ending *e = ctx;
	(void)t;
	return cut_span(e->stream, e->lane, span, depth, end_ns, TRACK_UNFINISHED);
}

static int end_lane(const struct stat_model *m, struct stat_lane *l, uint64_t now_ns)
{
	struct ending e = {&m->stream, l};
	if (l->state != STAT_LANE_LIVE)
		return 0;
	uint64_t end_ns = stat_stream_later(now_ns, l->since_ns);
	int err = l->open_spans ? tracks_each_open(m->stream.tracks, l->lane, end_ns, on_open, &e)
				: 0;
	return err ? err : stat_lane_leave(l, end_ns, STAT_LANE_STOPPED);
}

int stat_model_finish(const struct stat_model *m, struct stat_process *p, struct moment now)
{
	const struct session *s = m->stream.session;
	struct stat_numbers *n = &p->numbers;
	stat_process_know(p, s);
	int err = stat_lanes_sort(p);
	uint64_t end = stat_process_end(p, s, now);
	for (struct stat_lane *l = p->lanes; l && !err; l = l->next) {
		stat_mutator_settle_lane(l, end);
		err = end_lane(m, l, end);
		n->elapsed_ns += l->elapsed_ns;
		n->gc_ns += l->pauses.clock.gc_ns;
		n->uncovered_ns += l->uncovered_ns;
	}
	stat_mutator_settle(p, end);
	p->wall_ns = end > p->begin_ns ? end - p->begin_ns : 0;
	/* For a process without events its life counts, and the part of it that was not watched. */
	if (!p->lanes && n->lost.unwatched_ns) {
		uint64_t hole = n->lost.unwatched_ns;
		n->elapsed_ns = p->wall_ns;
		n->uncovered_ns = hole < p->wall_ns ? hole : p->wall_ns;
	}
	p->is_final = true;
	return err;
}

/* No more events of the process come: its numbers become final. */
static int end_process(struct stat_model *m, struct stat_process *p, struct moment now)
{
	int err = 0;
	for (struct stat_lane *l = p->lanes; l && !err; l = l->next) {
		stat_sets_wake(l);
		stat_progress_change(&m->progress, l);
		err = stat_lane_add_tallied(l, &p->numbers.pauses.whole);
	}
	return err ? err : stat_model_finish(m, p, now);
}

int stat_model_end(struct stat_model *m, struct moment now)
{
	int err = 0;
	for (struct stat_process *p = m->processes.first; p && !err; p = p->next)
		err = p->is_final ? 0 : end_process(m, p, now);
	return err;
}

/* Adds the released process with the least GC time to its program. */
static int fold_least(struct stat_model *m)
{
	struct stat_process *p = stat_ended_take_least(&m->ended);
	int err = stat_programs_add(&m->programs, p);
	stat_mutator_free(p);
	stat_lanes_free(p);
	stat_processes_remove(&m->processes, p);
	return err;
}

int stat_model_forget(struct stat_model *m, uint32_t process)
{
	const struct processes *registry = &m->stream.session->processes;
	uint32_t pid = processes_pid(registry, process);
	if (processes_find(registry, pid) == process)
		stat_processes_dead(&m->processes, pid);
	struct stat_process *p = stat_processes_find(&m->processes, process);
	int err = p ? end_process(m, p, m->stream.session->run_end) : 0;
	if (!err)
		err = tracks_forget(m->stream.tracks, process, m->stream.now_ns);
	if (err || !p)
		return err;
	/* What all have counted so far has the share of its lanes for good. */
	stat_progress_settle(&m->progress);
	stat_sets_forget(p);
	stat_mutator_release(p);
	stat_lanes_release(&m->stream, p);
	stat_processes_release(&m->processes, p);
	err = stat_ended_add(&m->ended, p);
	return err || m->ended.count <= m->own_max ? err : fold_least(m);
}
