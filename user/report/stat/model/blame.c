/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ptrarray.h"
#include "report/parts/pause_clock.h"
#include "report/parts/pauses.h"
#include "report/parts/thread_times.h"
#include "stream/tracks.h"

#define WAITS_MAX 256 /* of a pause; further ones are its own time */

/* Arrivals at a barrier. */
struct section {
	uint32_t refs; /* lanes inside, and the process while it is open */
	bool is_closed;
	uint64_t last_ns;
	uint32_t last_lane, last_tid;
	uint16_t last_domain;
};

/* A stretch in which a pause waited for another domain. */
struct wait {
	uint64_t from, to;
};

/* A pause that has not ended. Parts of it that have ended are split. */
struct open {
	struct blame_pause pause;
	uint32_t parts;	   /* that have ended */
	struct wait *wait; /* in the present one; few pauses have any */
	uint32_t waits, wait_room;
};

/* What is kept of a lane of the registry. */
struct lane {
	struct lane *next, *prev; /* of its process */
	uint32_t lane, process;
	struct pause_clock clock;  /* `user` of its pauses is a struct open */
	struct open *spare;	   /* one that has ended, for the next */
	uint64_t last_ns;	   /* of its last event */
	struct section *inside;	   /* the barrier that it is at; NULL: none */
	uint64_t since_ns, losses; /* losses: of struct blame, when they were last compared */
	struct held_pauses held;
};

/* What is kept of a process. */
struct blamed {
	struct lane *lanes;
	struct section *section[TRAITS_BARRIERS]; /* the open one; NULL: none */
	struct thread_times times;
};

struct blame {
	const struct session *session;
	struct tracks *tracks;
	PTRARRAY(struct blamed) processes; /* by process */
	PTRARRAY(struct lane) lanes;	   /* by lane of the registry */
	struct blame_sums sums;
	const struct ebt_event *end; /* the event at hand, with which a pause may end */
	uint64_t known_from;	     /* the first interval's begin */
	uint64_t losses, lost_ns;    /* the time of the last one */
	uint64_t open_ns;	     /* as session.open_at, of intervals that have come */
	blame_on_pause *on_pause;
	void *ctx;
};

/* The pause of the lane's present thread; NULL: it has none. */
static struct open *open_of(const struct lane *l)
{
	return l->clock.now.stopping ? l->clock.now.user : NULL;
}

/* As in struct traits_phase. */
static unsigned barrier_of(uint32_t id)
{
	const struct traits_phase *p = phases_find(id);
	return p && p->barrier <= TRAITS_BARRIERS ? p->barrier : 0;
}

static void drop_section(struct section *s)
{
	if (s && !--s->refs)
		free(s);
}

static struct blamed *blamed_of(struct blame *b, uint32_t process)
{
	bool is_new;
	struct blamed *of = ptrarray_make(&b->processes, process, &is_new);
	if (of && is_new)
		of->times.stacks = b->session->stacks;
	return of;
}

/* The lane arrives at a barrier. */
static int arrive(struct blamed *of, struct lane *l, const struct track *t, unsigned barrier,
		  const struct ebt_event *ev)
{
	struct section **open = &of->section[barrier - 1], *s = *open;
	drop_section(l->inside);
	l->inside = NULL;
	if (s && s->is_closed) {
		drop_section(s);
		s = *open = NULL;
	}
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return -ENOMEM;
		s->refs = 1;
	}
	*open = s;
	s->refs++;
	s->last_ns = ev->ts;
	s->last_lane = t->lane;
	s->last_tid = ev->tid;
	s->last_domain = t->domain;
	l->inside = s;
	return 0;
}

static void split_time(struct blame *b, struct blamed *of, uint32_t tid, uint64_t from, uint64_t to,
		       struct blame_split *ret)
{
	const struct off_cpu *known_of = tid ? thread_times_get(&of->times, tid) : NULL;
	uint64_t known = b->sums.is_known && tid ? b->known_from : UINT64_MAX;
	uint64_t unknown = known >= to ? to - from : known > from ? known - from : 0;
	static const struct off_cpu none;
	ret->ns[BLAME_UNKNOWN] += unknown;
	off_cpu_split(known_of ? known_of : &none, from + unknown, to, ret);
}

/* The lane leaves the barrier. 0 or -ENOMEM. */
static int leave(struct blame *b, struct blamed *of, struct lane *l, uint64_t begin_ns)
{
	struct section *s = l->inside;
	int err = 0;
	if (!s)
		return 0;
	s->is_closed = true;
	l->inside = NULL;
	struct open *o = open_of(l);
	if (o && begin_ns < l->clock.now.begin_ns)
		begin_ns = l->clock.now.begin_ns;
	bool waited = s->last_lane != l->lane && s->last_ns > begin_ns && o;
	if (waited && o->waits < WAITS_MAX && !array_room(o->wait, o->wait_room, o->waits)) {
		err = -ENOMEM;
	} else if (waited && o->waits < WAITS_MAX) {
		uint64_t ns = s->last_ns - begin_ns;
		o->wait[o->waits++] = (struct wait){begin_ns, s->last_ns};
		o->pause.split.ns[BLAME_DOMAIN] += ns;
		if (ns > o->pause.culprit.ns) {
			struct blame_culprit c = {
				.ns = ns, .domain = s->last_domain, .tid = s->last_tid};
			split_time(b, of, s->last_tid, begin_ns, s->last_ns, &c.split);
			stacks_drop(b->session->stacks, o->pause.culprit.split.block_stack);
			o->pause.culprit = c;
		}
	}
	drop_section(s);
	return err;
}

/* The present part of a pause that began at `from`, up to `to`, into the pause or a copy of it. */
static void split_part(struct blame *b, struct blamed *of, const struct open *o, uint64_t from,
		       uint64_t to, struct blame_pause *p)
{
	for (uint32_t i = 0; i < o->waits; i++) {
		split_time(b, of, p->tid, from, o->wait[i].from, &p->split);
		from = o->wait[i].to;
	}
	split_time(b, of, p->tid, from, to, &p->split);
}

/* Switches the lane's time to the thread of this event, if that is another one. 0 or -ENOMEM. */
static int switch_thread(struct blame *b, struct lane *l, const struct ebt_event *ev)
{
	struct pause_thread left = l->clock.now;
	struct blamed *of = blamed_of(b, l->process);
	struct open *o = open_of(l);
	int waits = of ? pause_clock_switch(&l->clock, ev->tid, l->last_ns, ev->ts) : -ENOMEM;
	if (waits <= 0 || !o)
		return waits < 0 ? waits : 0;
	split_part(b, of, o, left.begin_ns, l->last_ns, &o->pause);
	o->waits = 0;
	o->parts++;
	return 0;
}

/* Whether a pause may be a part of one with an unseen begin. */
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

/* A pause has ended, and all its parts have been split. 0 or -ENOMEM. */
static int end_pause(struct blame *b, struct lane *l, struct open *o)
{
	struct blame_pause *p = &o->pause;
	/* The kernel counts of a thread what it did while it waited, too. */
	p->has_counts = !o->parts && pause_counts_get(b->session, b->end, &p->counts);
	if (p->has_counts)
		blame_split_correct(&p->split, &p->counts);
	if (b->on_pause)
		b->on_pause(b->ctx, p);
	/* Rings hold what was before the run, which stat does not count. */
	if (b->session->run_begin.known && p->begin_ns < b->session->run_begin.ns)
		return 0;
	know_losses(b, l);
	if (is_unsure(b, l, p->end_ns))
		return blame_sums_hold(&b->sums, &l->held, p);
	blame_sums_settle(&b->sums, &l->held);
	blame_sums_add(&b->sums, p);
	return 0;
}

/* Notes the stack of a pause: that of its outermost phase with a stack. */
static void note_stack(struct blame *b, struct open *o, uint32_t stack)
{
	if (!o || o->pause.stack)
		return;
	stacks_hold(b->session->stacks, stack);
	o->pause.stack = stack;
}

static void free_open(struct open *o)
{
	if (o)
		free(o->wait);
	free(o);
}

/* The pause is over: its memory is the next one's. */
static void drop_open(struct blame *b, struct lane *l, struct open *o)
{
	blame_pause_drop(b->session->stacks, &o->pause);
	free_open(l->spare);
	l->spare = o;
}

/* NULL: no memory. */
static struct open *make_open(struct lane *l)
{
	struct open *o = l->spare;
	l->spare = NULL;
	if (!o)
		return calloc(1, sizeof(*o));
	*o = (struct open){.wait = o->wait, .wait_room = o->wait_room};
	return o;
}

/* Made at the first phase. NULL: no memory. */
static struct lane *make_lane(struct blame *b, const struct ebt_event *ev)
{
	bool is_new;
	uint32_t lane = processes_lane_of(&b->session->processes, ev);
	struct blamed *of = blamed_of(b, ev->process);
	struct lane *l = lane && of ? ptrarray_make(&b->lanes, lane, &is_new) : NULL;
	if (!l || !is_new)
		return l;
	l->lane = lane;
	l->process = ev->process;
	l->since_ns = ev->ts;
	l->next = of->lanes;
	if (l->next)
		l->next->prev = l;
	of->lanes = l;
	return l;
}

/* What is kept of a phase that stops: that it does, and its thread. */
#define STOPS  1u
#define TID_AT 32

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct blame *b = ctx;
	uint32_t row = phases_row(ev->id);
	unsigned barrier = barrier_of(ev->id);
	(void)depth;
	if (ev->kind != EBT_BEGIN)
		return 0;
	struct lane *l = ptrarray_get(&b->lanes, t->lane);
	struct blamed *of = blamed_of(b, t->process);
	if (!l || !of)
		return -ENOMEM;
	if (barrier) {
		int err = arrive(of, l, t, barrier, ev);
		if (err)
			return err;
	}
	if (phases_stop(row))
		s->user = (uint64_t)l->clock.now.tid << TID_AT | STOPS;
	if (!s->user || !pause_clock_begin(&l->clock, s->begin_ns)) {
		note_stack(b, open_of(l), ev->stack);
		return 0;
	}
	struct open *o = l->clock.now.user = make_open(l);
	if (!o)
		return -ENOMEM;
	o->pause = (struct blame_pause){
		.pid = processes_pid(&b->session->processes, t->process),
		.process = t->process,
		.tid = ev->tid,
		.domain = t->domain,
		.phase = ev->id,
		.row = row,
		.begin_ns = s->begin_ns,
	};
	note_stack(b, o, ev->stack);
	return 0;
}

/* The last phase of a pause ends. */
static int on_pause_end(struct blame *b, struct blamed *of, struct lane *l,
			const struct pause_thread *p, uint64_t end_ns, enum track_end how)
{
	struct open *o = p->user;
	int err = 0;
	if (how == TRACK_ENDED) {
		note_stack(b, o, b->end->stack);
		o->pause.tid = b->end->tid ? b->end->tid : o->pause.tid;
		o->pause.end_ns = end_ns;
		o->pause.ns = p->spent_ns;
		split_part(b, of, o, p->begin_ns, end_ns, &o->pause);
		err = end_pause(b, l, o);
	}
	drop_open(b, l, o);
	return err;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct blame *b = ctx;
	struct lane *l = ptrarray_get(&b->lanes, t->lane);
	struct blamed *of = blamed_of(b, t->process);
	(void)depth;
	if (t->span != TRACK_PHASES || !l || !of)
		return of ? 0 : -ENOMEM;
	int err = barrier_of(s->id) ? leave(b, of, l, s->begin_ns) : 0;
	if (err || !s->user)
		return err;
	const struct pause_thread *p =
		pause_clock_end(&l->clock, (uint32_t)(s->user >> TID_AT), end_ns);
	return p && p->user ? on_pause_end(b, of, l, p, end_ns, how) : 0;
}

/* A pause with an unseen begin ends: those that are held were its parts. */
static void on_orphan(void *ctx, struct track *t, const struct ebt_event *ev)
{
	struct blame *b = ctx;
	struct lane *l = t->span == TRACK_PHASES ? ptrarray_get(&b->lanes, t->lane) : NULL;
	if (!l || l->clock.now.stopping || !phases_stop(phases_row(ev->id)))
		return;
	know_losses(b, l);
	blame_sums_drop(&b->sums, &l->held);
}

static void free_lane(struct blame *b, struct lane *l)
{
	size_t at = 0;
	drop_section(l->inside);
	blame_sums_settle(&b->sums, &l->held);
	if (open_of(l))
		drop_open(b, l, open_of(l));
	for (const struct pause_thread *w; (w = pause_clock_next_waiting(&l->clock, &at));)
		if (w->user)
			drop_open(b, l, w->user);
	pause_clock_done(&l->clock);
	free_open(l->spare);
	free(l);
}

/* A track of a lane is forgotten with all others of it. */
static void on_forget(void *ctx, struct track *t)
{
	struct blame *b = ctx;
	struct blamed *of = ptrarray_get(&b->processes, t->process);
	struct lane *l = ptrarray_remove(&b->lanes, t->lane);
	if (!l)
		return;
	if (l->next)
		l->next->prev = l->prev;
	if (l->prev)
		l->prev->next = l->next;
	else if (of)
		of->lanes = l->next;
	free_lane(b, l);
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

static void free_blamed(struct blamed *of)
{
	if (!of)
		return;
	thread_times_done(&of->times);
	for (unsigned i = 0; i < TRAITS_BARRIERS; i++)
		drop_section(of->section[i]);
	free(of);
}

void blame_free(struct blame *b)
{
	if (!b)
		return;
	tracks_free(b->tracks);
	size_t at = 0;
	/* Without memory for its track a lane has none. */
	for (struct lane *l; (l = ptrarray_next(&b->lanes, &at));)
		free_lane(b, l);
	at = 0;
	for (struct blamed *of; (of = ptrarray_next(&b->processes, &at));)
		free_blamed(of);
	ptrarray_done(&b->processes);
	ptrarray_done(&b->lanes);
	blame_sums_done(&b->sums);
	free(b);
}

int blame_forget(struct blame *b, uint32_t process)
{
	int err = tracks_forget(b->tracks, process, 0);
	free_blamed(ptrarray_remove(&b->processes, process));
	return err;
}

/* Since when an open pause of the process may ask for intervals. */
static uint64_t needed_from(const struct blamed *of, uint64_t now_ns)
{
	uint64_t ns = now_ns;
	for (const struct lane *l = of->lanes; l; l = l->next)
		if (open_of(l) && l->clock.now.begin_ns < ns)
			ns = l->clock.now.begin_ns;
	return ns;
}

static int add_interval(struct blame *b, const struct ebt_event *ev)
{
	struct blamed *of = blamed_of(b, ev->process);
	struct off_cpu_interval i;
	off_cpu_interval_get(b->session, ev, &i);
	if (!of || !ev->tid)
		return of ? 0 : -ENOMEM;
	if (!b->sums.is_known || i.of.begin_ns < b->known_from)
		b->known_from = i.of.begin_ns;
	b->sums.is_known = true;
	int err = 0;
	if (thread_times_is_due(&of->times, ev->tid))
		err = thread_times_trim(&of->times, ev->tid, needed_from(of, i.of.begin_ns));
	return err ? err : thread_times_add(&of->times, ev->tid, &i);
}

/* An event of a domain or thread: the lane may have another thread with it. 0 or -ENOMEM. */
static int push_of_lane(struct blame *b, const struct ebt_event *ev)
{
	uint32_t lane = processes_lane_of(&b->session->processes, ev);
	struct lane *l = ptrarray_get(&b->lanes, lane);
	if (!l && ev->kind == EBT_BEGIN && !(l = make_lane(b, ev)))
		return -ENOMEM;
	int err = l && ev->tid && ev->tid != l->clock.now.tid ? switch_thread(b, l, ev) : 0;
	if (l)
		l->last_ns = ev->ts;
	return err ? err : tracks_push(b->tracks, ev);
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
		err = ev[i].kind == EBT_OFFCPU	     ? add_interval(b, &ev[i])
		      : kinds_is_of_lane(ev[i].kind) ? push_of_lane(b, &ev[i])
						     : tracks_push(b->tracks, &ev[i]);
	}
	return err;
}

int blame_snapshot(const struct blame *b, struct blame_sums *ret)
{
	size_t at = 0;
	*ret = (struct blame_sums){0};
	int err = blame_sums_copy(ret, &b->sums);
	if (err)
		return err;
	for (const struct blamed *of; (of = ptrarray_next(&b->processes, &at));)
		for (const struct lane *l = of->lanes; l; l = l->next)
			blame_sums_add_held(ret, &l->held);
	blame_sums_sort(ret);
	return 0;
}

/* The last moment at which it is known whether the present thread of a lane has a CPU: a switch is
 * recorded when the thread runs again. */
static uint64_t known_until(const struct blame *b, const struct blamed *of, const struct lane *l,
			    uint32_t tid)
{
	const struct off_cpu *o = tid ? thread_times_get(&of->times, tid) : NULL;
	const struct offcpu *last = o ? off_cpu_last(o) : NULL;
	uint64_t ns = l->last_ns;
	if (last && last->end_ns > ns)
		ns = last->end_ns;
	/* What was open then has been recorded up to then, or later. */
	return (last && last->open) || b->open_ns < ns ? ns : b->open_ns;
}

/* Behind `from` nothing is known of a thread that seems to run. */
static void split_rest(uint64_t from, struct blame_pause *p)
{
	uint64_t ns = from < p->end_ns ? p->end_ns - from : 0;
	ns = ns < p->split.ns[BLAME_CPU] ? ns : p->split.ns[BLAME_CPU];
	p->split.ns[BLAME_CPU] -= ns;
	p->split.ns[BLAME_UNKNOWN] += ns;
}

/* The longer one of the pause of a thread and *best. ns: its length so far. */
static void consider_open(const struct pause_thread *t, uint64_t ns,
			  const struct pause_thread **best, uint64_t *best_ns)
{
	if (!t->user || ns <= *best_ns)
		return;
	*best = t;
	*best_ns = ns;
}

static void longest_open_of(const struct lane *l, uint64_t now_ns, const struct pause_thread **best,
			    uint64_t *best_ns)
{
	const struct pause_thread *t = &l->clock.now;
	uint64_t part_ns = now_ns > t->begin_ns ? now_ns - t->begin_ns : 0;
	size_t at = 0;
	if (open_of(l))
		consider_open(t, t->spent_ns + part_ns, best, best_ns);
	while ((t = pause_clock_next_waiting(&l->clock, &at)))
		consider_open(t, t->spent_ns, best, best_ns);
}

bool blame_open(struct blame *b, uint64_t now_ns, struct blame_pause *ret)
{
	const struct session *s = b->session;
	const struct pause_thread *longest = NULL;
	struct blamed *longest_of = NULL;
	struct lane *lane = NULL;
	uint64_t ns = 0;
	size_t at = 0;
	if (s->open_emitted.known && s->open_emitted.ns <= now_ns)
		b->open_ns = s->open_at.ns;
	for (struct blamed *of; (of = ptrarray_next(&b->processes, &at));)
		for (struct lane *l = of->lanes; l; l = l->next) {
			const struct pause_thread *was = longest;
			longest_open_of(l, now_ns, &longest, &ns);
			longest_of = longest != was ? of : longest_of;
			lane = longest != was ? l : lane;
		}
	if (!longest)
		return false;
	const struct open *o = longest->user;
	*ret = o->pause;
	ret->end_ns = now_ns;
	ret->ns = ns;
	ret->split.block_stack = ret->culprit.split.block_stack = 0;
	if (ns > longest->spent_ns) { /* else its thread waits */
		split_part(b, longest_of, o, longest->begin_ns, now_ns, ret);
		split_rest(known_until(b, longest_of, lane, ret->tid), ret);
	}
	stacks_drop(b->session->stacks, ret->split.block_stack);
	ret->split.block_stack = 0;
	return true;
}
