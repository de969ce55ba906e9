/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/stat.h"

#include <errno.h>

#include "report/stat/model/counters.h"
#include "report/stat/model/spans.h"
#include "stream/loss.h"

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

/* ---- lifecycles ---- */

static int start_recording(struct stat_model *m, struct stat_lane *l, uint64_t now_ns, bool resume)
{
	struct stat_process *p = l->process;
	int err = 0;
	/* Its end was not seen: it lies at the last events. */
	if (p->recording && (resume || l->state == STAT_LANE_LIVE))
		err = stat_sets_stop(&m->sets, p, 0, false);
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
	return err ? err : stat_lane_step(&m->stream, l, STAT_LANE_LOSES, since_ns, now);
}

/* One without a domain concerns all lanes that no ring holds; without a process, of all
 * processes. */
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
	if (!ev->process)
		return stat_sets_hole_all(&m->sets, anywhere, since, now);
	if (loss_is_unwatched(ev) && !stat_processes_unwatched(&m->processes, ev, since))
		return -ENOMEM;
	struct stat_process *p = stat_processes_find(&m->processes, ev->process);
	if (!p)
		return 0;
	stat_loss_count(&p->numbers.lost, ev);
	return stat_sets_hole(&m->sets, p, anywhere, since, now);
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
	       !m->progress.on;
}

/* Prepares the lane for any other event. */
static __attribute__((noinline)) int prepare(struct stat_model *m, struct stat_lane *l,
					     const struct ebt_event *ev)
{
	struct stat_stream *s = &m->stream;
	struct pause_clock *clock = &l->pauses.clock;
	if (stat_sets_use(&m->sets, l, ev->pos != EBT_NO_POS))
		return -ENOMEM;
	int err = 0;
	l->process->numbers.late += s->late;
	if (ev->tid && ev->tid != clock->now.tid)
		err = pause_clock_switch(clock, ev->tid, l->last_ns,
					 stat_stream_later(s->now_ns, l->since_ns));
	if (err < 0)
		return err;
	if (ev->kind == EBT_LIFECYCLE || l->state == STAT_LANE_LIVE)
		return 0;
	return stat_lane_step(s, l, ev->kind == EBT_BEGIN ? STAT_LANE_BEGINS : STAT_LANE_OTHER, 0,
			      s->now_ns);
}

static inline int on_event(struct stat_model *m, const struct ebt_event *ev)
{
	const struct stat_stream *s = &m->stream;
	struct stat_lane *l = lane_of(m, ev);
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
	return err;
}

/* Of the tracing itself. */
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
	int err = 0;
	s->floor_ns = s->session->run_begin.ns;
	/* Damage found before the first event has no time. */
	for (size_t i = 0; i < n && !m->first.known; i++)
		if (ev[i].ts || ev[i].kind != EBT_DAMAGE)
			m->first = moment_at(stat_stream_clip(s, ev[i].ts));
	for (const struct ebt_event *end = ev + n; ev < end && !err; ev++) {
		s->now_ns = stat_stream_clip(s, ev->ts);
		s->late = ev->flags & EBT_F_LATE;
		err = kinds_bit(ev->kind) & of_lanes ? on_event(m, ev) : on_stream(m, ev);
	}
	return err;
}

/* ---- the end ---- */

/* No more events of the process come: its numbers become final. */
static int end_process(struct stat_model *m, struct stat_process *p)
{
	const struct session *s = m->stream.session;
	struct stat_numbers *n = &p->numbers;
	if (p->is_final)
		return 0;
	stat_process_know(p, s);
	int err = stat_lanes_sort(p);
	uint64_t end = stat_process_end(p, s);
	for (struct stat_lane *l = p->lanes; l && !err; l = l->next) {
		stat_sets_wake(l);
		err = stat_lane_close(&m->stream, l, end, STAT_LANE_STOPPED);
		n->elapsed_ns += l->elapsed_ns;
		n->gc_ns += l->pauses.clock.gc_ns;
		n->uncovered_ns += l->uncovered_ns;
	}
	p->wall_ns = end > p->begin_ns ? end - p->begin_ns : 0;
	/* Of one without events its life counts, and what of it was not watched. */
	if (!p->lanes && n->lost.unwatched_ns) {
		uint64_t hole = n->lost.unwatched_ns;
		n->elapsed_ns = p->wall_ns;
		n->uncovered_ns = hole < p->wall_ns ? hole : p->wall_ns;
	}
	p->is_final = true;
	return err;
}

int stat_model_end(struct stat_model *m)
{
	int err = 0;
	m->stream.interval = NULL;
	for (struct stat_process *p = m->processes.first; p && !err; p = p->next)
		err = end_process(m, p);
	return err;
}

/* Of the processes that were released, the one with the least GC time joins its program. */
static int fold_least(struct stat_model *m)
{
	struct stat_process *p = stat_ended_take_least(&m->ended);
	int err = stat_programs_add(&m->programs, p);
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
	int err = p ? end_process(m, p) : 0;
	if (!err)
		err = tracks_forget(m->stream.tracks, process, m->stream.now_ns);
	if (err || !p)
		return err;
	/* What all have counted so far has the share of its lanes for good. */
	stat_progress_settle(&m->progress);
	stat_sets_forget(p);
	stat_lanes_release(&m->stream, p);
	stat_processes_release(&m->processes, p);
	err = stat_ended_add(&m->ended, p);
	return err || m->ended.count <= m->own_max ? err : fold_least(m);
}

int stat_model_total(const struct stat_model *m, struct stat_numbers *sum)
{
	int err = 0;
	for (const struct stat_process *p = m->processes.first; p && !err; p = p->next)
		err = stat_numbers_add(sum, &p->numbers);
	for (const struct stat_program *g = m->programs.first; g && !err; g = g->next)
		err = stat_numbers_add(sum, &g->numbers);
	return err;
}
