/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/loss.h"
#include "sink/stat_lane.h"
#include "sink/stat_sleep.h"

enum {
#define EBT_COUNTER_ID(id, name, unit, help) COUNTER_##name = id,
#include <ebtrace/events.def>
};
enum {
#define EBT_LIFECYCLE_ID(id, name, help) LIFECYCLE_##name = id,
#include <ebtrace/events.def>
};

int stat_model_init(struct stat_model *m, const struct session *s)
{
	*m = (struct stat_model){.session = s};
	struct tracks_visitor v = stat_lane_visitor(m);
	int err = tracks_new(&s->processes, &v, &m->tracks);
	if (!err)
		tracks_by_thread(m->tracks);
	return err;
}

void stat_model_done(struct stat_model *m)
{
	for (struct stat_process *p = m->processes, *next; p; p = next) {
		for (struct stat_lane *l = p->lanes, *after; l; l = after) {
			after = l->next;
			free(l->held);
			free(l->waiting);
			free(l);
		}
		next = p->next;
		stat_sleep_done(p);
		ptrmap_done(&p->by_number);
		histogram_done(&p->pauses.whole);
		free(p);
	}
	map_done(&m->births);
	ptrmap_done(&m->by_process);
	tracks_free(m->tracks);
}

static uint64_t moment(const struct stat_model *m, const struct ebt_event *ev)
{
	uint64_t floor_ns = m->session->run_begin.ns;
	return ev->ts < floor_ns ? floor_ns : ev->ts;
}

static bool is_lifecycle(const struct ebt_event *ev, uint32_t id)
{
	return ev->kind == EBT_LIFECYCLE && ev->id == id;
}

static struct stat_process *find_process(const struct stat_model *m, uint32_t process)
{
	return ptrmap_get(&m->by_process, process);
}

void stat_model_know(const struct stat_model *m, struct stat_process *p)
{
	if (!p->about)
		p->about = processes_announced(&m->session->processes, p->process);
	const struct traits_language *language = p->about ? p->about->traits.language : NULL;
	p->heap_is_by_domain = language && language->heap_is_by_domain;
	p->minor_is_shared = language && language->minor_is_shared;
}

/*
 * A process begins when it was forked or executed, or its recording began. One of which nobody has
 * seen that was there when the run began.
 */
static struct stat_process *make_process(struct stat_model *m, const struct ebt_event *ev)
{
	bool is_new;
	struct stat_process *p = ptrmap_make(&m->by_process, ev->process, &is_new);
	if (!p || !is_new)
		return p;
	/* It has a section to the end of the run. */
	processes_ref(&m->session->processes, ev->process);
	const struct moment *run = &m->session->run_begin;
	uint64_t now = moment(m, ev);
	p->process = ev->process;
	p->pid = processes_pid(&m->session->processes, ev->process);
	const uint64_t *birth = map_get(&m->births, p->pid);
	p->begin_ns = birth						      ? *birth
		      : run->known && !is_lifecycle(ev, LIFECYCLE_ring_start) ? run->ns
									      : now;
	p->begun = birth;
	p->recorded_from_ns = p->begin_ns;
	p->recording = true;
	stat_model_know(m, p);
	*(m->last_process ? &m->last_process->next : &m->processes) = p;
	m->last_process = p;
	m->process_count++;
	return p;
}

static struct stat_lane *make_lane(struct stat_model *m, const struct ebt_event *ev)
{
	struct stat_process *p = make_process(m, ev);
	return p ? stat_lane_make(p, ev) : NULL;
}

static struct stat_lane *lane_of(struct stat_model *m, const struct ebt_event *ev)
{
	struct track *t = tracks_of(m->tracks, ev);
	if (!t)
		return NULL;
	if (!t->user)
		t->user = make_lane(m, ev);
	return t->user;
}

/* Its time runs from here, or from before: what of that was not watched is a hole. */
static int open_lane(struct stat_model *m, struct stat_lane *l, uint64_t from_ns)
{
	const struct stat_process *p = l->process;
	stat_lane_open(l, from_ns, false);
	bool unseen = !l->in_ring && p->unwatched_ns > l->since_ns;
	return unseen ? stat_lane_hole(m, l, p->unwatched_since_ns, p->unwatched_ns) : 0;
}

/*
 * True if the domain's time runs, or runs from here. An end alone is no sign of life: of a domain
 * that has ended it may be the last.
 */
static bool revive(struct stat_model *m, struct stat_lane *l, const struct ebt_event *ev)
{
	struct stat_process *p = l->process;
	bool first = l->is_thread ? p->begun && l->number == p->pid && !l->until_ns
				  : l->stopped && p->recording;
	int err = 0;
	if (l->live)
		return true;
	/* The first thread is as old as its process. */
	if (first)
		err = open_lane(m, l, p->recorded_from_ns);
	else if (l->is_thread || (p->recording && ev->kind == EBT_BEGIN))
		err = open_lane(m, l, moment(m, ev));
	return l->live && !err;
}

/* ---- lifecycles ---- */

static int stop_recording(struct stat_model *m, struct stat_process *p, uint64_t now_ns)
{
	p->recording = false;
	return stat_sleep_close(m, p, now_ns, false);
}

static int start_recording(struct stat_model *m, struct stat_lane *l, uint64_t now_ns, bool resume)
{
	struct stat_process *p = l->process;
	int err = 0;
	/* Nobody said that it had ended: the last events say when. */
	if (p->recording && (resume || l->live))
		err = stat_sleep_close(m, p, 0, false);
	p->recording = true;
	p->recorded_from_ns = now_ns;
	if (resume)
		stat_sleep_resume(p, now_ns);
	stat_sleep_wake(l);
	if (!l->live)
		stat_lane_open(l, now_ns, false);
	return err;
}

static int on_lifecycle(struct stat_model *m, struct stat_lane *l, const struct ebt_event *ev)
{
	uint64_t now = moment(m, ev);
	int err = 0;
	switch (ev->id) {
	case LIFECYCLE_ring_start:
	case LIFECYCLE_ring_resume:
		return start_recording(m, l, now, ev->id == LIFECYCLE_ring_resume);
	case LIFECYCLE_ring_stop:
	case LIFECYCLE_ring_pause:
		revive(m, l, ev);
		return stop_recording(m, l->process, now);
	case LIFECYCLE_domain_spawn:
		/* One whose predecessor's end was not told. */
		err = stat_lane_close(m, l, l->last_ns, false);
		stat_lane_open(l, now, true);
		return err;
	case LIFECYCLE_domain_terminate:
		revive(m, l, ev);
		err = stat_lane_close(m, l, now, false);
		l->heap_words = l->pool_words = l->large_words = 0;
		l->process->heap_sum -= l->heap_counted;
		l->heap_counted = 0;
		return err;
	default:
		revive(m, l, ev);
		return 0;
	}
}

/* ---- counters ---- */

static void add_words(struct stat_words *w, uint64_t words)
{
	w->seen = true;
	w->words += words;
}

/*
 * OCaml tells each domain's part of the heap; before 5.3, only at the end of a major cycle. With our
 * own probes a domain tells the heap.
 */
static uint64_t heap_of(const struct stat_lane *l)
{
	return l->heap_words ? l->heap_words : l->pool_words + l->large_words;
}

static void on_heap(struct stat_lane *l, uint64_t *ret_last, uint64_t words)
{
	struct stat_process *p = l->process;
	*ret_last = words;
	p->heap_sum += heap_of(l) - l->heap_counted;
	l->heap_counted = heap_of(l);
	uint64_t sum = p->heap_is_by_domain ? p->heap_sum : l->heap_counted;
	p->heap = (struct stat_words){true, sum};
	p->heap_max.seen = true;
	if (sum > p->heap_max.words)
		p->heap_max.words = sum;
}

static void on_counter(struct stat_lane *l, const struct ebt_event *ev)
{
	struct stat_process *p = l->process;
	switch (ev->id) {
	case COUNTER_minor_allocated:
		add_words(&p->minor_bytes, ev->arg[0]);
		break;
	case COUNTER_minor_promoted:
		add_words(&p->promoted_bytes, ev->arg[0]);
		break;
	case COUNTER_minor_allocated_words:
		add_words(&p->minor_words, ev->arg[0]);
		break;
	case COUNTER_minor_promoted_words:
		add_words(&p->promoted_words, ev->arg[0]);
		break;
	case COUNTER_major_allocated_words:
		add_words(&p->major_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_words:
		on_heap(l, &l->heap_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_pool_words:
		on_heap(l, &l->pool_words, ev->arg[0]);
		break;
	case COUNTER_major_heap_large_words:
		on_heap(l, &l->large_words, ev->arg[0]);
		break;
	default:
		break;
	}
}

/* ---- losses, damage, processes ---- */

static void count_loss(struct stat_loss *l, const struct ebt_event *ev)
{
	uint64_t events = ev->arg[0] == EBT_LOST_UNCOUNTED ? 0 : ev->arg[0];
	bool history = ev->flags & EBT_F_HISTORY;
	*(history ? &l->history_events : &l->events) += events;
	*(history ? &l->history_words : &l->words) += ev->arg[1];
	*(history ? &l->history_uncounted : &l->uncounted) += ev->arg[0] == EBT_LOST_UNCOUNTED;
}

static int lose_lane(struct stat_model *m, struct stat_lane *l, uint64_t since_ns, uint64_t now_ns)
{
	struct stat_process *p = l->process;
	/* What was lost may have been its begin. */
	if (!l->live && !l->is_thread) {
		uint64_t from = since_ns > p->recorded_from_ns ? since_ns : p->recorded_from_ns;
		if (!p->recording)
			p->recorded_from_ns = from;
		p->recording = true;
		stat_lane_open(l, from, false);
	}
	if (now_ns > l->last_ns)
		l->last_ns = now_ns;
	return l->live ? stat_lane_hole(m, l, since_ns, now_ns) : 0;
}

/* A process, new ones too, was not watched from `since` on until now. */
static struct stat_process *note_unwatched(struct stat_model *m, const struct ebt_event *ev,
					   uint64_t since_ns)
{
	struct stat_process *p = find_process(m, ev->process);
	uint64_t floor_ns = m->session->run_begin.ns, now = moment(m, ev);
	uint64_t since = since_ns < floor_ns ? floor_ns : since_ns;
	if (!p && (p = make_process(m, ev)) && (!p->begun || since < p->begin_ns)) {
		p->begun = true;
		p->begin_ns = p->recorded_from_ns = since;
	}
	if (!p)
		return NULL;
	p->unwatched_since_ns = since;
	p->unwatched_ns = now;
	p->lost.unwatched++;
	p->lost.unwatched_ns += now - since;
	if (now > p->last_ns)
		p->last_ns = now;
	return p;
}

/* A loss without a domain concerns all that no ring holds; without a pid, of all processes. */
static int on_loss(struct stat_model *m, const struct ebt_event *ev)
{
	struct ebt_event cut = *ev;
	if (cut.pos > cut.ts)
		cut.pos = cut.ts;
	uint64_t since = EBT_LOST_SINCE(&cut), now = moment(m, ev);
	struct stat_lane *lane = NULL;
	if (ev->domain != EBT_NO_DOMAIN &&
	    (!(lane = lane_of(m, ev)) || stat_sleep_use(m, lane, lane->in_ring)))
		return -ENOMEM;
	int err = tracks_push(m->tracks, &cut);
	if (err || lane) {
		if (lane) {
			count_loss(&lane->lost, ev);
			count_loss(&lane->process->lost, ev);
			lane->process->last_ns = now;
		}
		return err ? err : lose_lane(m, lane, since, now);
	}
	if (loss_is_unwatched(ev) && ev->process && !note_unwatched(m, ev, since))
		return -ENOMEM;
	bool anywhere = EBT_LOST_ANYWHERE(ev);
	if (err || !ev->process)
		return err ? err : stat_sleep_hole_all(m, anywhere, since, now);
	struct stat_process *p = find_process(m, ev->process);
	if (!p)
		return 0;
	count_loss(&p->lost, ev);
	return stat_sleep_hole(m, p, anywhere, since, now);
}

/* Of a pid that came before, another process's life begins: what both did is added up. */
static int on_birth(struct stat_model *m, uint32_t pid, uint64_t now)
{
	const struct processes *ps = &m->session->processes;
	uint32_t newest = processes_find(ps, pid);
	struct stat_process *p = newest ? find_process(m, newest) : NULL;
	uint64_t *birth = map_put(&m->births, pid);
	if (!birth)
		return -ENOMEM;
	*birth = now;
	if (!p || !p->end.known)
		return 0;
	p->end.known = false;
	p->recording = true;
	p->recorded_from_ns = now;
	return 0;
}

static int on_process(struct stat_model *m, const struct ebt_event *ev)
{
	uint32_t pid = processes_pid(&m->session->processes, ev->process);
	uint64_t now = moment(m, ev);
	if (ev->id == EBT_PROCESS_FORK)
		return on_birth(m, (uint32_t)ev->arg[0], now);
	struct stat_process *p = find_process(m, ev->process);
	if (!p && ev->id == EBT_PROCESS_EXEC)
		return on_birth(m, pid, now);
	map_delete(&m->births, pid);
	if (!p)
		return 0;
	int err = stat_sleep_close(m, p, now, true);
	/* A new program begins anew: with its ring, or here. */
	p->recording = ev->id == EBT_PROCESS_EXEC;
	p->recorded_from_ns = now;
	if (now > p->last_ns)
		p->last_ns = now;
	if (ev->id == EBT_PROCESS_EXIT)
		p->end = moment_at(now);
	return err ? err : tracks_push(m->tracks, ev);
}

/* ---- events ---- */

static int on_span(struct stat_model *m, struct stat_lane *l, const struct ebt_event *ev)
{
	uint32_t i = stat_phase_index(ev->id);
	if (ev->kind == EBT_BEGIN || l->open[i])
		return tracks_push(m->tracks, ev);
	if (ev->ts >= m->session->run_begin.ns)
		stat_lane_orphan(l, i, ev->ts);
	return 0;
}

static int on_event(struct stat_model *m, const struct ebt_event *ev)
{
	struct stat_lane *l = lane_of(m, ev);
	if (!l || stat_sleep_use(m, l, ev->pos != EBT_NO_POS))
		return -ENOMEM;
	int err = 0;
	if (ev->tid && ev->tid != l->tid)
		err = stat_lane_thread(l, ev->tid, moment(m, ev));
	l->process->late += !!(ev->flags & EBT_F_LATE);
	if (err)
		return err;
	if (ev->kind == EBT_LIFECYCLE)
		err = on_lifecycle(m, l, ev);
	else if (ev->kind == EBT_COUNTER && ev->ts >= m->session->run_begin.ns)
		on_counter(l, ev);
	if (ev->kind != EBT_LIFECYCLE && (l->live || revive(m, l, ev)) &&
	    (ev->kind == EBT_BEGIN || ev->kind == EBT_END))
		err = on_span(m, l, ev);
	stat_sleep_wake(l);
	l->last_ns = moment(m, ev);
	l->process->last_ns = l->last_ns;
	return err;
}

int stat_model_push(struct stat_model *m, const struct ebt_event *ev)
{
	/* Damage found before the first event has no time. */
	if (!m->first.known && (ev->ts || ev->kind != EBT_DAMAGE))
		m->first = moment_at(moment(m, ev));
	m->now_ns = moment(m, ev);
	m->late = ev->flags & EBT_F_LATE;
	enum kinds_family family = kinds_family(ev->kind);
	if (family == KINDS_runtime || family == KINDS_user)
		return on_event(m, ev);
	switch (ev->kind) {
	case EBT_LOST:
		return on_loss(m, ev);
	case EBT_PROCESS:
		return on_process(m, ev);
	case EBT_DAMAGE: {
		struct stat_process *p = find_process(m, ev->process);
		if (p)
			p->damaged++;
		return 0;
	}
	default:
		return 0;
	}
}
