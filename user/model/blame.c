/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ptrarray.h"
#include "core/tracks.h"
#include "model/pauses.h"
#include "model/thread_times.h"

#define WAITS_MAX 256 /* of a pause; further ones are its own time */

/* Arrivals at a barrier. */
struct section {
	uint32_t refs; /* lanes inside, and the process while it is open */
	bool is_closed;
	uint64_t last_ns;
	uint32_t last_lane, last_tid;
	uint16_t last_domain;
};

enum { API_BARRIER, LEAVE_BARRIER, BARRIERS };

/* A stretch in which a pause waited for another domain. */
struct wait {
	uint64_t from, to;
};

/* What is kept of a track of phases. */
struct lane {
	struct lane *next, *prev; /* of its process */
	bool is_paused;
	uint32_t stopping; /* open phases that stop the mutator */
	struct blame_pause pause;
	struct wait *wait; /* few lanes have any */
	uint32_t waits, wait_room;
	struct section *inside;	   /* the barrier that it is at; NULL: none */
	uint64_t since_ns, losses; /* losses: of which it knows */
	struct held_pauses held;
};

struct family {
	struct lane *lanes;
	struct section *section[BARRIERS]; /* the open one; NULL: none */
	struct thread_times times;
};

struct blame {
	const struct session *session;
	struct tracks *tracks;
	PTRARRAY(struct family) families; /* by process */
	struct blame_sums sums;
	const struct ebt_event *end; /* the event at hand, with which a pause may end */
	uint64_t known_from;	     /* the first interval's begin */
	uint64_t losses, lost_ns;    /* the time of the last one */
	bool is_known;
	blame_on_pause *on_pause;
	void *ctx;
};

static int barrier_of(uint32_t id)
{
	return id == PHASE_stw_api_barrier	 ? API_BARRIER
	       : id == PHASE_minor_leave_barrier ? LEAVE_BARRIER
						 : BARRIERS;
}

static void drop_section(struct section *s)
{
	if (s && !--s->refs)
		free(s);
}

static struct family *family_of(struct blame *b, uint32_t process)
{
	bool is_new;
	return ptrarray_make(&b->families, process, &is_new);
}

/* The lane arrives at a barrier. */
static int arrive(struct family *f, struct lane *l, const struct track *t, int barrier,
		  const struct ebt_event *ev)
{
	struct section *s = f->section[barrier];
	drop_section(l->inside);
	l->inside = NULL;
	if (s && s->is_closed) {
		drop_section(s);
		s = f->section[barrier] = NULL;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->refs = 1;
	}
	f->section[barrier] = s;
	s->refs++;
	s->last_ns = ev->ts;
	s->last_lane = t->lane;
	s->last_tid = ev->tid;
	s->last_domain = t->domain;
	l->inside = s;
	return 0;
}

static void split_time(struct blame *b, struct family *f, uint32_t tid, uint64_t from, uint64_t to,
		       struct blame_split *ret)
{
	const struct off_cpu *known_of = tid ? thread_times_get(&f->times, tid) : NULL;
	uint64_t known = b->is_known && tid ? b->known_from : UINT64_MAX;
	uint64_t unknown = known >= to ? to - from : known > from ? known - from : 0;
	static const struct off_cpu none;
	ret->ns[BLAME_UNKNOWN] += unknown;
	off_cpu_split(known_of ? known_of : &none, from + unknown, to, ret);
}

/* The lane leaves the barrier. 0 or -ENOMEM. */
static int leave(struct blame *b, struct family *f, struct lane *l, const struct track *t,
		 uint64_t begin_ns)
{
	struct section *s = l->inside;
	int err = 0;
	if (!s)
		return 0;
	s->is_closed = true;
	l->inside = NULL;
	bool waited = s->last_lane != t->lane && s->last_ns > begin_ns && l->is_paused;
	if (waited && l->waits < WAITS_MAX && !array_room(l->wait, l->wait_room, l->waits)) {
		err = -ENOMEM;
	} else if (waited && l->waits < WAITS_MAX) {
		uint64_t ns = s->last_ns - begin_ns;
		l->wait[l->waits++] = (struct wait){begin_ns, s->last_ns};
		l->pause.split.ns[BLAME_DOMAIN] += ns;
		if (ns > l->pause.culprit.ns) {
			struct blame_culprit c = {
				.ns = ns, .domain = s->last_domain, .tid = s->last_tid};
			split_time(b, f, s->last_tid, begin_ns, s->last_ns, &c.split);
			l->pause.culprit = c;
		}
	}
	drop_section(s);
	return err;
}

/* The pause of a lane, as if it ended. */
static void split_pause(struct blame *b, struct family *f, const struct lane *l, uint32_t tid,
			uint64_t end_ns, struct blame_pause *p)
{
	uint64_t from = p->begin_ns;
	p->end_ns = end_ns;
	p->tid = tid;
	for (uint32_t i = 0; i < l->waits; i++) {
		split_time(b, f, tid, from, l->wait[i].from, &p->split);
		from = l->wait[i].to;
	}
	split_time(b, f, tid, from, end_ns, &p->split);
}

static void settle_all(struct blame *b)
{
	size_t at = 0;
	for (struct family *f; (f = ptrarray_next(&b->families, &at));)
		for (struct lane *l = f->lanes; l; l = l->next)
			blame_sums_settle(&b->sums, &l->held);
}

/* Whether a pause may be a part of one whose begin was not seen. */
static bool is_unsure(const struct blame *b, const struct lane *l, uint64_t end_ns)
{
	uint64_t since = l->since_ns > b->lost_ns ? l->since_ns : b->lost_ns;
	return end_ns - since <= PAUSES_HELD_NS && l->held.count < PAUSES_HELD_MAX;
}

/* Pauses that were held before the last loss were some. */
static void know_losses(struct blame *b, struct lane *l)
{
	if (l->losses != b->losses)
		blame_sums_settle(&b->sums, &l->held);
	l->losses = b->losses;
}

static int end_pause(struct blame *b, struct family *f, struct lane *l, uint32_t tid,
		     uint64_t end_ns)
{
	struct blame_pause *p = &l->pause;
	split_pause(b, f, l, tid, end_ns, p);
	p->has_usage = pause_usage_get(b->session, b->end, &p->usage);
	if (p->has_usage)
		blame_split_correct(&p->split, &p->usage);
	if (b->on_pause)
		b->on_pause(b->ctx, p);
	/* Rings hold what was before the run, which stat does not count. */
	if (b->session->run_begin.known && p->begin_ns < b->session->run_begin.ns)
		return 0;
	know_losses(b, l);
	if (is_unsure(b, l, end_ns))
		return blame_sums_hold(&b->sums, &l->held, p);
	blame_sums_settle(&b->sums, &l->held);
	blame_sums_add(&b->sums, p);
	return 0;
}

/* Of the phases of a pause the stack of the outermost one that has any. */
static void note_stack(struct blame *b, struct lane *l, uint32_t stack)
{
	if (!l->is_paused || l->pause.stack)
		return;
	stacks_hold(b->session->stacks, stack);
	l->pause.stack = stack;
}

static void drop_stack(struct blame *b, struct lane *l)
{
	stacks_drop(b->session->stacks, l->pause.stack);
	l->pause.stack = 0;
}

static struct lane *lane_of(struct blame *b, struct track *t, uint64_t now_ns)
{
	struct family *f = family_of(b, t->process);
	if (t->user || !f)
		return t->user;
	struct lane *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->since_ns = now_ns;
	l->next = f->lanes;
	if (l->next)
		l->next->prev = l;
	f->lanes = l;
	return t->user = l;
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct blame *b = ctx;
	uint32_t row = phases_row(ev->id);
	int barrier = barrier_of(ev->id);
	(void)depth;
	if (ev->kind != EBT_BEGIN)
		return 0;
	struct lane *l = lane_of(b, t, ev->ts);
	struct family *f = family_of(b, t->process);
	if (!l || !f)
		return -ENOMEM;
	if (barrier < BARRIERS) {
		int err = arrive(f, l, t, barrier, ev);
		if (err)
			return err;
	}
	s->user = phases_stop(row);
	if (!s->user || l->stopping++) {
		note_stack(b, l, ev->stack);
		return 0;
	}
	l->is_paused = true;
	l->waits = 0;
	l->pause = (struct blame_pause){
		.pid = processes_pid(&b->session->processes, t->process),
		.process = t->process,
		.tid = ev->tid,
		.domain = t->domain,
		.phase = ev->id,
		.row = row,
		.begin_ns = ev->ts,
	};
	note_stack(b, l, ev->stack);
	return 0;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct blame *b = ctx;
	struct lane *l = t->user;
	struct family *f = family_of(b, t->process);
	(void)depth;
	if (t->span != TRACK_PHASES || !l || !f)
		return f ? 0 : -ENOMEM;
	int err = barrier_of(s->id) < BARRIERS ? leave(b, f, l, t, s->begin_ns) : 0;
	if (!s->user || --l->stopping)
		return err;
	if (!err && how == TRACK_ENDED)
		note_stack(b, l, b->end->stack);
	if (!err && l->is_paused && how == TRACK_ENDED)
		err = end_pause(b, f, l, b->end->tid ? b->end->tid : l->pause.tid, end_ns);
	drop_stack(b, l);
	l->is_paused = false;
	return err;
}

/* A pause ends whose begin was not seen: those that are held were its parts. */
static void on_orphan(void *ctx, struct track *t, const struct ebt_event *ev)
{
	struct blame *b = ctx;
	struct lane *l = t->span == TRACK_PHASES ? t->user : NULL;
	if (!l || l->stopping || !phases_stop(phases_row(ev->id)))
		return;
	know_losses(b, l);
	blame_sums_drop(&b->sums, &l->held);
}

static void on_forget(void *ctx, struct track *t)
{
	struct blame *b = ctx;
	struct family *f = ptrarray_get(&b->families, t->process);
	struct lane *l = t->span == TRACK_PHASES ? t->user : NULL;
	if (!l)
		return;
	if (l->next)
		l->next->prev = l->prev;
	if (l->prev)
		l->prev->next = l->next;
	else if (f)
		f->lanes = l->next;
	drop_section(l->inside);
	drop_stack(b, l);
	blame_sums_settle(&b->sums, &l->held);
	free(l->wait);
	free(l);
}

static const struct tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .orphan = on_orphan, .forget = on_forget};

int blame_new(const struct session *s, uint32_t longest, struct blame **ret)
{
	struct blame *b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->session = s;
	if (blame_sums_init(&b->sums, s->stacks, longest) ||
	    tracks_new(&s->processes, &visitor, b, &b->tracks)) {
		blame_free(b);
		return -ENOMEM;
	}
	tracks_by_thread(b->tracks);
	*ret = b;
	return 0;
}

void blame_watch(struct blame *b, blame_on_pause *fn, void *ctx)
{
	b->on_pause = fn;
	b->ctx = ctx;
}

static void free_family(struct family *f)
{
	if (!f)
		return;
	thread_times_done(&f->times);
	for (int i = 0; i < BARRIERS; i++)
		drop_section(f->section[i]);
	free(f);
}

void blame_free(struct blame *b)
{
	if (!b)
		return;
	tracks_free(b->tracks);
	size_t at = 0;
	for (struct family *f; (f = ptrarray_next(&b->families, &at));)
		free_family(f);
	ptrarray_done(&b->families);
	blame_sums_done(&b->sums);
	free(b);
}

int blame_forget(struct blame *b, uint32_t process)
{
	int err = tracks_forget(b->tracks, process, 0);
	free_family(ptrarray_remove(&b->families, process));
	return err;
}

/* Since when an open pause of the process may ask for intervals. */
static uint64_t needed_from(const struct family *f, uint64_t now_ns)
{
	uint64_t ns = now_ns;
	for (const struct lane *l = f->lanes; l; l = l->next)
		if (l->is_paused && l->pause.begin_ns < ns)
			ns = l->pause.begin_ns;
	return ns;
}

static int add_interval(struct blame *b, const struct ebt_event *ev)
{
	struct family *f = family_of(b, ev->process);
	struct off_cpu_interval i;
	offcpu_get(b->session, ev, &i.of);
	if (!f || !ev->tid)
		return f ? 0 : -ENOMEM;
	i.blocked = blame_part_of_block(i.of.reason, i.of.syscall);
	if (i.of.reason == EBT_OFFCPU_PREEMPTED)
		i.of.wait_ns = i.of.end_ns - i.of.begin_ns;
	if (!b->is_known || i.of.begin_ns < b->known_from)
		b->known_from = i.of.begin_ns;
	b->is_known = true;
	int err = 0;
	if (thread_times_is_due(&f->times, ev->tid))
		err = thread_times_trim(&f->times, ev->tid, needed_from(f, i.of.begin_ns));
	return err ? err : thread_times_add(&f->times, ev->tid, &i);
}

int blame_events(struct blame *b, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		b->end = &ev[i];
		if (ev[i].kind == EBT_LOST) {
			b->losses++;
			b->lost_ns = ev[i].ts;
		}
		err = ev[i].kind == EBT_OFFCPU ? add_interval(b, &ev[i])
					       : tracks_push(b->tracks, &ev[i]);
	}
	return err;
}

const struct blame_sum *blame_total(struct blame *b)
{
	settle_all(b);
	return &b->sums.total;
}

const struct blame_sum *blame_of_row(struct blame *b, uint32_t row)
{
	settle_all(b);
	return &b->sums.of_row[row];
}

const struct blame_runner *blame_runner(struct blame *b)
{
	settle_all(b);
	const struct blame_runner *most = b->sums.runners;
	for (unsigned i = 1; i < BLAME_RUNNERS; i++)
		if (b->sums.runners[i].ns > most->ns)
			most = &b->sums.runners[i];
	return most->ns ? most : NULL;
}

const struct blame_pause *blame_longest(struct blame *b, uint32_t *ret_count)
{
	settle_all(b);
	longest_pauses_sort(&b->sums.longest);
	*ret_count = b->sums.longest.count;
	return b->sums.longest.at;
}

/* What a thread does that was without a CPU when that was recorded last. */
static void split_rest(struct family *f, struct blame_pause *p)
{
	const struct off_cpu *o = p->tid ? thread_times_get(&f->times, p->tid) : NULL;
	uint64_t from = o ? off_cpu_open_until(o) : 0;
	if (!from || from >= p->end_ns)
		return;
	uint64_t ns = p->end_ns - (from > p->begin_ns ? from : p->begin_ns);
	ns = ns < p->split.ns[BLAME_CPU] ? ns : p->split.ns[BLAME_CPU];
	p->split.ns[BLAME_CPU] -= ns;
	p->split.ns[BLAME_UNKNOWN] += ns;
}

bool blame_open(struct blame *b, uint64_t now_ns, struct blame_pause *ret)
{
	struct lane *longest = NULL;
	struct family *of = NULL;
	size_t at = 0;
	for (struct family *f; (f = ptrarray_next(&b->families, &at));)
		for (struct lane *l = f->lanes; l; l = l->next)
			if (l->is_paused && l->pause.begin_ns < now_ns &&
			    (!longest || l->pause.begin_ns < longest->pause.begin_ns)) {
				longest = l;
				of = f;
			}
	if (!longest)
		return false;
	*ret = longest->pause;
	split_pause(b, of, longest, ret->tid, now_ns, ret);
	split_rest(of, ret);
	return true;
}

bool blame_is_known(const struct blame *b)
{
	return b->is_known;
}
