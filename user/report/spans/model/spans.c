/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/ptrarray.h"
#include "report/spans/model/choice.h"
#include "report/spans/model/lanes.h"
#include "report/spans/model/lives.h"
#include "report/spans/model/open.h"
#include "session/event_args.h"
#include "session/marker_values.h"
#include "session/names.h"
#include "session/phases.h"
#include "stream/fibers.h"
#include "stream/tracks.h"

/* Spans of one name in each other, of which the outermost has no end any more (stream/tracks.h has
 * a limit). */
#define DEPTH_MAX 96

/* What is kept of a process. */
struct follow {
	struct span_lane *lanes;
	struct open_span *open; /* of threads */
	struct span_times times;
	uint64_t known_from; /* intervals before it were lost; 0: none were */
};

struct span_model {
	const struct session *session;
	struct span_model_options options;
	struct span_sums sums;
	struct tracks *tracks;		   /* user spans, and phases for the pauses */
	struct tracks *phases;		   /* that are spans; NULL: no pattern matches a phase */
	struct fibers *fibers;		   /* NULL: there was no event of a library of fibers */
	struct fiber_lives *lives;	   /* in place of `fibers` */
	PTRARRAY(struct follow) processes; /* by process */
	struct span_lanes lanes;
	struct span_choice choice;     /* of names */
	const struct ebt_event *event; /* at hand */
	struct track *crowded;	       /* it has too many open spans */
	struct open_spans spare;
	uint32_t open;
	bool knows_threads, has_begun;
	uint64_t known_from, begin_ns, end_ns;
	uint64_t losses;
};

static __attribute__((noinline)) struct follow *make_follow(struct span_model *m, uint32_t process)
{
	bool is_new;
	struct follow *f = ptrarray_make(&m->processes, process, &is_new);
	if (f)
		f->times.off_cpu.stacks = m->session->stacks;
	return f;
}

/* NULL: no memory. */
static inline struct follow *follow_of(struct span_model *m, uint32_t process)
{
	struct follow *f = ptrarray_get(&m->processes, process);
	return f ? f : make_follow(m, process);
}

static uint64_t known_from(const struct span_model *m, const struct follow *f)
{
	if (!m->knows_threads)
		return UINT64_MAX;
	return f->known_from > m->known_from ? f->known_from : m->known_from;
}

/* ---- threads and pauses ---- */

static struct span_thread thread_of(const struct span_model *m, const struct ebt_event *ev)
{
	bool is_domain = ev->domain != EBT_NO_DOMAIN;
	uint32_t lane = is_domain ? processes_lane_of(&m->session->processes, ev) : 0;
	const struct span_lane *l = span_lanes_at(&m->lanes, lane);
	return (struct span_thread){.tid = ev->tid ? ev->tid
					   : l	   ? span_lane_owner(l, &m->session->processes)
						   : 0,
				    .lane = lane};
}

static struct span_thread pausing(const struct span_lane *l, uint32_t tid)
{
	return (struct span_thread){.tid = tid, .lane = l->lane};
}

/* Another thread runs the lane: the pause of the one before, if it has one, waits. */
static __attribute__((noinline)) int switch_thread(struct span_model *m, struct span_lane *l,
						   const struct ebt_event *ev)
{
	struct pause_thread left = l->clock.now;
	struct follow *f = follow_of(m, l->process);
	span_lane_note_thread(l, ev->tid);
	int waits = f ? pause_clock_switch(&l->clock, ev->tid, l->last_ns, ev->ts) : -ENOMEM;
	if (waits < 0)
		return waits;
	const struct pause_thread *now = &l->clock.now;
	struct span_thread who = pausing(l, left.tid);
	int err = waits ? span_times_add_pause(&f->times, &who, left.begin_ns, l->last_ns,
					       (uint32_t)(uintptr_t)left.user - 1)
			: 0;
	who = pausing(l, now->tid);
	if (!err && now->stopping && now->tid == ev->tid && left.tid != ev->tid)
		err = span_times_open_pause(&f->times, &who, now->begin_ns,
					    (uint32_t)(uintptr_t)now->user - 1);
	return err;
}

static int begin_phase(struct span_model *m, struct track *t, struct track_span *s)
{
	struct span_lane *l = span_lanes_at(&m->lanes, t->lane);
	struct follow *f = follow_of(m, t->process);
	uint32_t row = phases_row(s->id);
	if (!l || !f)
		return -ENOMEM;
	if (!phases_stop(row))
		return 0;
	s->user = (uint64_t)l->clock.now.tid << 1 | 1;
	if (!pause_clock_begin(&l->clock, s->begin_ns))
		return 0;
	l->clock.now.user = (void *)(uintptr_t)(row + 1);
	struct span_thread who = pausing(l, l->clock.now.tid);
	return span_times_open_pause(&f->times, &who, s->begin_ns, row);
}

/* ---- how far back threads must be known ---- */

static bool is_of(const struct span_thread *a, const struct span_thread *b)
{
	return b->tid ? a->tid == b->tid : a->lane == b->lane;
}

/* Takes in the time of a thread, which has one behind this moment, and returns since when what it
 * did is still asked for. */
static int advance(struct span_model *m, struct follow *f, const struct span_thread *who,
		   uint64_t ns, uint64_t *ret_needed)
{
	int err = 0;
	*ret_needed = ns;
	for (struct open_span *o = f->open; o && !err; o = o->next)
		if (is_of(&o->who, who))
			err = open_span_advance(o, &f->times, &m->sums, known_from(m, f), ns);
	for (const struct span_lane *l = f->lanes; l; l = l->next)
		if (l->runs_ns && l->runs_ns < *ret_needed)
			*ret_needed = l->runs_ns;
	return err;
}

/* Since when anything is asked for that any thread did. */
static uint64_t needed_of_all(const struct follow *f, uint64_t ns)
{
	for (const struct open_span *o = f->open; o; o = o->next)
		ns = o->done_ns < ns ? o->done_ns : ns;
	for (const struct span_lane *l = f->lanes; l; l = l->next)
		ns = l->runs_ns && l->runs_ns < ns ? l->runs_ns : ns;
	return ns;
}

static int end_phase(struct span_model *m, struct track *t, const struct track_span *s,
		     uint64_t end_ns)
{
	struct span_lane *l = span_lanes_at(&m->lanes, t->lane);
	struct follow *f = follow_of(m, t->process);
	if (!l || !f)
		return f ? 0 : -ENOMEM;
	const struct pause_thread *p =
		s->user ? pause_clock_end(&l->clock, (uint32_t)(s->user >> 1), end_ns) : NULL;
	if (!p || !p->user)
		return 0;
	struct span_thread who = pausing(l, p == &l->clock.now ? p->tid : (uint32_t)(s->user >> 1));
	/* One that waits has had all its pieces. */
	if (p != &l->clock.now) {
		span_times_drop_pause(&f->times, &who);
		return 0;
	}
	int err = span_times_add_pause(&f->times, &who, p->begin_ns, end_ns,
				       (uint32_t)(uintptr_t)p->user - 1);
	if (err || !span_times_is_due(&f->times, &who))
		return err;
	uint64_t needed_ns;
	err = advance(m, f, &who, end_ns, &needed_ns);
	span_times_trim(&f->times, &who, needed_ns);
	return err;
}

static int add_interval(struct span_model *m, const struct ebt_event *ev)
{
	struct follow *f = follow_of(m, ev->process);
	struct off_cpu_interval i;
	off_cpu_interval_get(m->session, ev, &i);
	if (!f || !ev->tid)
		return f ? 0 : -ENOMEM;
	if (!m->knows_threads || i.of.begin_ns < m->known_from)
		m->known_from = i.of.begin_ns;
	m->knows_threads = true;
	int err = 0;
	if (thread_times_is_due(&f->times.off_cpu, ev->tid)) {
		struct span_thread who = {.tid = ev->tid};
		uint64_t needed_ns;
		err = advance(m, f, &who, i.of.begin_ns, &needed_ns);
		if (!thread_times_get(&f->times.off_cpu, ev->tid))
			needed_ns = needed_of_all(f, needed_ns);
		if (!err)
			err = thread_times_trim(&f->times.off_cpu, ev->tid, needed_ns);
	}
	return err ? err : thread_times_add(&f->times.off_cpu, ev->tid, &i);
}

/* Intervals without a CPU were lost: what threads did up to now is not known. */
static int lose_intervals(struct span_model *m, const struct ebt_event *ev)
{
	size_t at = 0;
	int err = 0;
	for (struct follow *f; !err && (f = ptrarray_next(&m->processes, &at));) {
		if (ev->process && ptrarray_get(&m->processes, ev->process) != f)
			continue;
		for (struct open_span *o = f->open; o && !err; o = o->next)
			err = open_span_advance(o, &f->times, &m->sums, known_from(m, f),
						EBT_LOST_SINCE(ev));
		f->known_from = ev->ts;
	}
	return err;
}

/* ---- spans ---- */

static bool is_history(const struct span_model *m, uint64_t begin_ns)
{
	const struct moment *run = &m->session->run_begin;
	return run->known && begin_ns < run->ns;
}

/* *ret NULL: it is not followed. 0 or -ENOMEM. */
static int make_open(struct span_model *m, struct span_name *n, uint32_t process, uint64_t begin_ns,
		     struct open_span **ret)
{
	*ret = NULL;
	if (!n)
		return -ENOMEM;
	if (m->open >= SPANS_OPEN) {
		n->cut[SPAN_NOT_FOLLOWED]++;
		return 0;
	}
	struct open_span *o = open_spans_take(&m->spare);
	if (!o)
		return -ENOMEM;
	o->of.name = n;
	o->of.pid = processes_pid(&m->session->processes, process);
	o->of.domain = EBT_NO_DOMAIN;
	o->of.begin_ns = o->done_ns = begin_ns;
	o->stacks = m->session->stacks;
	m->open++;
	*ret = o;
	return 0;
}

/* The text of a row, which is `text`, that of the name, where names have nothing besides. */
static uint32_t row_text(struct span_model *m, uint32_t process, const struct ebt_event *begin,
			 const char *name, uint32_t text)
{
	char whole[SPAN_GROUP_BYTES];
	if (!span_groups(&m->options.by))
		return text;
	const char *row = span_group_name(&m->options.by, m->session, process, begin, name, whole);
	return row == name ? text : span_sums_text(&m->sums, row);
}

static int open_of_thread(struct span_model *m, struct track *t, struct track_span *s,
			  const struct ebt_event *ev, bool is_phase)
{
	char scratch[NAMES_MADE_BYTES];
	const char *name = names_label(m->session, ev, scratch);
	struct follow *f = follow_of(m, t->process);
	struct open_span *o;
	uint32_t text = span_sums_text(&m->sums, name);
	bool wanted = is_phase ? span_choice_matches(&m->choice, name)
			       : span_choice_wants(&m->choice, name, text);
	if (!f || !wanted || m->options.fibers)
		return f ? 0 : -ENOMEM;
	struct span_name *n = span_sums_name(
		&m->sums, row_text(m, t->process, is_phase ? NULL : ev, name, text), is_phase);
	int err = make_open(m, n, t->process, s->begin_ns, &o);
	if (err || !o)
		return err;
	o->who = thread_of(m, ev);
	o->who.in_pauses = is_phase;
	o->of.tid = o->who.tid;
	o->of.domain = ev->domain;
	o->next = f->open;
	if (o->next)
		o->next->prev = o;
	f->open = o;
	s->user = (uintptr_t)o;
	return 0;
}

static void unlink_open(struct follow *f, struct open_span *o)
{
	*(o->prev ? &o->prev->next : &f->open) = o->next;
	if (o->next)
		o->next->prev = o->prev;
}

/* Why a span is in no sum; SPAN_CUTS: it is in all. */
static enum span_cut cut_of(const struct span_model *m, const struct open_span *o,
			    enum track_end how)
{
	switch (how) {
	case TRACK_ENDED:
		return is_history(m, o->of.begin_ns) ? SPAN_CUT_BEGIN : SPAN_CUTS;
	case TRACK_LOST:
		return SPAN_CUT_LOSS;
	case TRACK_UNFINISHED:
		return o->held_one && !o->of.name->recurses ? SPAN_NOT_ENDED : SPAN_CUT_END;
	case TRACK_OUTER:
	case TRACK_PROCESS:
	case TRACK_NOT_ENDED:
		break;
	}
	return SPAN_NOT_ENDED;
}

/* A span whose parts are whole has ended, or one that was cut. 0 or -ENOMEM. */
static int close_span(struct span_model *m, struct open_span *o, uint32_t process, uint64_t end_ns,
		      enum track_end how)
{
	enum span_cut cut = cut_of(m, o, how);
	int err = 0;
	/* All of what was before the run is of no interest. */
	if (cut != SPAN_CUTS && !is_history(m, end_ns))
		o->of.name->cut[cut]++;
	o->of.ns = end_ns - o->of.begin_ns;
	if (cut == SPAN_CUTS && span_sums_keeps(&m->sums, &o->of))
		o->of.comm = span_sums_text(&m->sums, span_program(m->session, process));
	if (cut == SPAN_CUTS)
		err = span_sums_add(&m->sums, &o->of);
	open_spans_put(&m->spare, o);
	m->open--;
	return err;
}

static int close_of_thread(struct span_model *m, struct track *t, const struct track_span *s,
			   uint64_t end_ns, enum track_end how)
{
	struct open_span *o = (struct open_span *)(uintptr_t)s->user;
	struct follow *f = follow_of(m, t->process);
	int err = 0;
	if (!o || !f)
		return f ? 0 : -ENOMEM;
	unlink_open(f, o);
	if (how == TRACK_ENDED) {
		struct span_thread end = thread_of(m, m->event);
		bool across = o->who.tid && end.tid && o->who.tid != end.tid;
		/* The thread of the domain may be known since. */
		if (!o->who.tid && o->done_ns == o->of.begin_ns)
			o->who.tid = o->of.tid = end.tid;
		o->of.name->recurses |= o->held_one;
		err = across ? open_span_replace(o, SPAN_ACROSS, end_ns)
			     : open_span_advance(o, &f->times, &m->sums, known_from(m, f), end_ns);
		if (t->depth && t->open[t->depth - 1].user)
			((struct open_span *)(uintptr_t)t->open[t->depth - 1].user)->held_one |=
				t->open[t->depth - 1].id == s->id;
	}
	int failed = close_span(m, o, t->process, end_ns, how);
	return err ? err : failed;
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct span_model *m = ctx;
	if (ev->kind == EBT_BEGIN)
		return begin_phase(m, t, s);
	if (depth >= DEPTH_MAX)
		m->crowded = t;
	return open_of_thread(m, t, s, ev, false);
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	(void)depth;
	return t->span == TRACK_PHASES ? end_phase(ctx, t, s, end_ns)
				       : close_of_thread(ctx, t, s, end_ns, how);
}

static void on_orphan(void *ctx, struct track *t, const struct ebt_event *ev)
{
	struct span_model *m = ctx;
	char scratch[NAMES_MADE_BYTES];
	const char *name = names_label(m->session, ev, scratch);
	if (t->span == TRACK_PHASES || m->options.fibers)
		return;
	uint32_t text = span_sums_text(&m->sums, name);
	if (!span_choice_wants(&m->choice, name, text) || is_history(m, ev->ts))
		return;
	text = row_text(m, t->process, NULL, name, text);
	struct span_name *n = span_sums_name(&m->sums, text, false);
	if (n)
		n->cut[m->losses ? SPAN_CUT_LOSS : SPAN_CUT_BEGIN]++;
}

static const struct tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .orphan = on_orphan};

/* ---- phases as spans ---- */

static int on_phase_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
			  const struct ebt_event *ev)
{
	(void)depth;
	return open_of_thread(ctx, t, s, ev, true);
}

static int on_phase_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
			uint64_t end_ns, enum track_end how)
{
	(void)depth;
	return close_of_thread(ctx, t, s, end_ns, how);
}

static const struct tracks_visitor phases_visitor = {.begin = on_phase_begin, .end = on_phase_end};

/* ---- fibers ---- */

static int on_run(void *ctx, struct fiber *f)
{
	struct span_model *m = ctx;
	struct span_lane *l = span_lanes_at(&m->lanes, f->lane);
	if (l)
		l->runs_ns = f->since_ns;
	return 0;
}

/* To the innermost open span of a fiber: those around it take it in when that one ends. */
static int add_to_span(void *ctx, const struct span_segment *s)
{
	return open_span_add(ctx, s);
}

/* The text of the sums that a text of the fibers is. */
static uint32_t text_of_fibers(struct span_model *m, uint32_t id)
{
	if (!id)
		return 0;
	uint64_t *text = fibers_text_user(m->fibers, id);
	if (!*text)
		*text = span_sums_text(&m->sums, fibers_text(m->fibers, id));
	return (uint32_t)*text;
}

/* The domain ran the fiber. */
static int spend_running(struct span_model *m, const struct fiber *f, uint64_t begin_ns,
			 uint64_t end_ns)
{
	struct span_lane *l = span_lanes_at(&m->lanes, f->lane);
	if (l)
		l->runs_ns = end_ns;
	struct follow *of = f->user ? follow_of(m, f->process) : NULL;
	if (!of)
		return f->user ? -ENOMEM : 0;
	struct span_thread who = {.tid = l ? span_lane_owner(l, &m->session->processes) : 0,
				  .lane = f->lane};
	uint64_t known = known_from(m, of);
	if (!span_times_is_unknown(&of->times, &who, begin_ns, end_ns, known))
		return open_span_walk(&of->times, &m->sums, &who, known, begin_ns, end_ns,
				      add_to_span, f->user);
	struct span_segment s = span_segment_of(SPAN_UNKNOWN, 0, begin_ns, end_ns);
	return open_span_add(f->user, &s);
}

static int on_spent(void *ctx, struct fiber *f, const struct fiber_interval *i)
{
	struct span_model *m = ctx;
	if (i->state == FIBER_RUNNING)
		return spend_running(m, f, i->begin_ns, i->end_ns);
	if (!f->user)
		return 0;
	bool is_ready = i->state == FIBER_READY;
	struct span_segment s = span_segment_of(is_ready ? SPAN_READY : SPAN_SUSPENDED,
						is_ready ? 0 : text_of_fibers(m, i->operation),
						i->begin_ns, i->end_ns);
	return open_span_add(f->user, &s);
}

static int on_open(void *ctx, struct fiber *f, const struct fiber_part *p)
{
	struct span_model *m = ctx;
	struct open_span *o;
	if (p->is_context)
		return 0;
	const char *name = p->name ? fibers_text(m->fibers, p->name) : "span";
	uint32_t text = p->name ? text_of_fibers(m, p->name) : span_sums_text(&m->sums, name);
	if (!span_choice_wants(&m->choice, name, text))
		return 0;
	text = row_text(m, f->process, NULL, name, text);
	struct span_name *n = span_sums_name(&m->sums, text, false);
	int err = make_open(m, n, f->process, p->begin_ns, &o);
	if (err || !o)
		return err;
	o->of.domain = f->domain;
	o->of.fiber = f->id;
	o->done_ns = p->depth; /* which part it is; its time comes by itself */
	o->next = f->user;
	f->user = o;
	return 0;
}

static int on_close(void *ctx, struct fiber *f, const struct fiber_part *p, uint64_t end_ns,
		    enum track_end how)
{
	struct span_model *m = ctx;
	struct open_span *o = f->user;
	if (p->is_context || !o || o->done_ns != p->depth || o->of.begin_ns != p->begin_ns)
		return 0;
	f->user = o->next;
	int err = o->next ? open_span_append(o->next, o) : 0;
	int failed = close_span(m, o, f->process, end_ns, how);
	return err ? err : failed;
}

static void forget_fiber(void *ctx, struct fiber *f)
{
	(void)ctx;
	for (struct open_span *o = f->user, *next; o; o = next) {
		next = o->next;
		open_span_free(o);
	}
	f->user = NULL;
}

static int on_fiber_end(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how)
{
	struct span_model *m = ctx;
	struct span_lane *l = span_lanes_at(&m->lanes, f->lane);
	(void)end_ns, (void)how;
	if (l && f->state == FIBER_RUNNING)
		l->runs_ns = 0;
	return 0;
}

static const struct fibers_visitor fibers_visitor = {.run = on_run,
						     .open = on_open,
						     .close = on_close,
						     .spent = on_spent,
						     .end = on_fiber_end,
						     .forget = forget_fiber};

static int walk_domain(void *ctx, uint32_t process, uint32_t lane, uint64_t from, uint64_t to,
		       open_span_fn *fn, void *fn_ctx)
{
	struct span_model *m = ctx;
	struct follow *f = follow_of(m, process);
	const struct span_lane *l = span_lanes_at(&m->lanes, lane);
	struct span_thread who = {.tid = l ? span_lane_owner(l, &m->session->processes) : 0,
				  .lane = lane};
	return f ? open_span_walk(&f->times, &m->sums, &who, known_from(m, f), from, to, fn, fn_ctx)
		 : -ENOMEM;
}

static void need_domain(void *ctx, uint32_t lane, uint64_t from_ns)
{
	struct span_model *m = ctx;
	struct span_lane *l = span_lanes_at(&m->lanes, lane);
	if (l)
		l->runs_ns = from_ns;
}

static bool wants_fibers(void *ctx, const char *name)
{
	struct span_model *m = ctx;
	return span_choice_wants(&m->choice, name, span_sums_text(&m->sums, name));
}

static int make_lives(struct span_model *m)
{
	const struct fiber_lives_host host = {m,	   &m->sums,	 walk_domain,
					      need_domain, wants_fibers, m->options.by};
	return fiber_lives_new(m->session, &host, &m->lives);
}

/* An event that is not one of the library of fibers. */
static int push_to_fibers(struct span_model *m, const struct ebt_event *ev)
{
	if (m->lives)
		return fiber_lives_event(m->lives, ev);
	return m->fibers ? fibers_push(m->fibers, ev) : 0;
}

static int push_record(struct span_model *m, const struct ebt_event *ev, const struct eio_record *r)
{
	if (m->lives)
		return fiber_lives_record(m->lives, ev, r);
	int err = m->fibers ? 0 : fibers_new(m->session, &fibers_visitor, m, &m->fibers);
	return err ? err : fibers_push_record(m->fibers, ev, r);
}

/* ---- events ---- */

int span_model_new(const struct session *s, const struct span_model_options *o,
		   struct span_model **ret)
{
	struct span_model *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->session = s;
	m->options = *o;
	m->choice = (struct span_choice){.globs = o->globs, .count = o->glob_count};
	int err = span_sums_init(&m->sums, s->stacks, o->slowest);
	if (!err)
		err = tracks_new(&s->processes, &visitor, m, &m->tracks);
	if (!err && !o->fibers && span_choice_matches_a_phase(&m->choice))
		err = tracks_new(&s->processes, &phases_visitor, m, &m->phases);
	if (!err && o->fibers)
		err = make_lives(m);
	if (err) {
		span_model_free(m);
		return err;
	}
	tracks_by_thread(m->tracks);
	if (m->phases)
		tracks_by_thread(m->phases);
	*ret = m;
	return 0;
}

static void free_follow(struct follow *f)
{
	if (!f)
		return;
	for (struct open_span *o = f->open, *next; o; o = next) {
		next = o->next;
		open_span_free(o);
	}
	span_times_done(&f->times);
	free(f);
}

void span_model_free(struct span_model *m)
{
	size_t at = 0;
	if (!m)
		return;
	fibers_free(m->fibers);
	fiber_lives_free(m->lives);
	tracks_free(m->phases);
	tracks_free(m->tracks);
	for (struct follow *f; (f = ptrarray_next(&m->processes, &at));)
		free_follow(f);
	ptrarray_done(&m->processes);
	span_lanes_done(&m->lanes);
	open_spans_done(&m->spare);
	span_choice_done(&m->choice);
	span_sums_done(&m->sums);
	free(m);
}

static __attribute__((noinline)) struct span_lane *add_lane(struct span_model *m,
							    const struct ebt_event *ev)
{
	struct follow *f = follow_of(m, ev->process);
	return f ? span_lanes_add(&m->lanes, &m->session->processes, ev, &f->lanes) : NULL;
}

/* What its threads are is not known any more: its program has ended. */
static void forget_lanes(struct span_model *m, uint32_t process)
{
	struct follow *f = ptrarray_get(&m->processes, process);
	if (f)
		span_lanes_forget(&m->lanes, &f->lanes);
}

/* An event of a domain or thread: the lane may have another thread with it. 0 or -ENOMEM. */
static inline __attribute__((always_inline)) int note_lane(struct span_model *m,
							   const struct ebt_event *ev)
{
	struct span_lane *l = span_lanes_find(&m->lanes, &m->session->processes, ev);
	if (!l && !(l = add_lane(m, ev)))
		return -ENOMEM;
	int err = ev->tid && ev->tid != l->clock.now.tid ? switch_thread(m, l, ev) : 0;
	l->last_ns = ev->ts;
	return err;
}

/* An event of a library of fibers. It is in no track: it begins and ends what is theirs. */
static int push_of_fibers(struct span_model *m, const struct ebt_event *ev, enum eio_event e)
{
	struct eio_record r;
	int err = note_lane(m, ev);
	return err || !event_args_decode(m->session, ev, e, &r) ? err : push_record(m, ev, &r);
}

/* Any other event. */
static __attribute__((noinline)) int push(struct span_model *m, const struct ebt_event *ev)
{
	m->event = ev;
	if (ev->kind == EBT_OFFCPU)
		return add_interval(m, ev);
	int err = kinds_is_of_lane(ev->kind) ? note_lane(m, ev) : 0;
	if (ev->kind == EBT_LOST) {
		m->losses += !(ev->flags & EBT_F_HISTORY);
		if (ev->flags & EBT_F_BPF && !(ev->flags & EBT_F_HISTORY))
			err = lose_intervals(m, ev);
	}
	if (!err)
		err = tracks_push(m->tracks, ev);
	if (ev->kind == EBT_PROCESS && ev->id != EBT_PROCESS_FORK)
		forget_lanes(m, ev->process);
	if (!err && m->crowded)
		err = tracks_end_outermost(m->tracks, m->crowded, ev->ts, TRACK_UNFINISHED);
	m->crowded = NULL;
	if (!err && m->phases && ev->kind != EBT_SPAN_BEGIN && ev->kind != EBT_SPAN_END)
		err = tracks_push(m->phases, ev);
	return err ? err : push_to_fibers(m, ev);
}

int span_model_events(struct span_model *m, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	if (n && !m->has_begun)
		m->begin_ns = ev->ts;
	m->has_begun |= n > 0;
	for (const struct ebt_event *end = ev + n; ev < end && !err; ev++) {
		enum eio_event of_fibers = event_args_event(m->session, ev);
		m->end_ns = ev->ts > m->end_ns ? ev->ts : m->end_ns;
		err = of_fibers != EIO_NONE ? push_of_fibers(m, ev, of_fibers) : push(m, ev);
	}
	return err;
}

int span_model_forget(struct span_model *m, uint32_t process)
{
	int err = m->fibers  ? fibers_forget(m->fibers, process, m->end_ns)
		  : m->lives ? fiber_lives_forget(m->lives, process, m->end_ns)
			     : 0;
	if (!err && m->phases)
		err = tracks_forget(m->phases, process, m->end_ns);
	if (!err)
		err = tracks_forget(m->tracks, process, m->end_ns);
	forget_lanes(m, process);
	free_follow(ptrarray_remove(&m->processes, process));
	return err;
}

int span_model_end(struct span_model *m, uint64_t end_ns)
{
	m->end_ns = end_ns > m->end_ns ? end_ns : m->end_ns;
	int err = m->fibers  ? fibers_end(m->fibers, m->end_ns)
		  : m->lives ? fiber_lives_end(m->lives, m->end_ns)
			     : 0;
	if (!err && m->phases)
		err = tracks_end(m->phases, m->end_ns);
	return err ? err : tracks_end(m->tracks, m->end_ns);
}

static int visit_fiber(void *ctx, struct fiber *f)
{
	const struct span_visit *v = ctx;
	int err = 0;
	for (const struct open_span *o = f->user; o && !err; o = o->next)
		err = v->fn(v->ctx, o);
	return err;
}

int span_model_each_open(struct span_model *m, struct span_visit *v)
{
	size_t at = 0;
	int err = m->fibers ? fibers_each(m->fibers, visit_fiber, v) : 0;
	for (struct follow *f; !err && (f = ptrarray_next(&m->processes, &at));)
		for (struct open_span *o = f->open; o && !err; o = o->next)
			err = v->fn(v->ctx, o);
	return err;
}

int span_model_result(struct span_model *m, struct span_result *ret)
{
	const struct session *s = m->session;
	struct fibers_limits over = {0};
	int err = span_result_make(&m->sums, m->options.globs, m->options.glob_count, ret);
	if (err)
		return err;
	if (m->fibers)
		over = fibers_over_limits(m->fibers);
	if (m->lives) {
		over = fiber_lives_over_limits(m->lives);
		ret->domain = fiber_lives_domains(m->lives, &ret->domains);
	}
	ret->begin_ns = s->run_begin.known ? s->run_begin.ns : m->begin_ns;
	ret->end_ns = m->end_ns > ret->begin_ns ? m->end_ns : ret->begin_ns;
	ret->knows_threads = m->knows_threads;
	ret->without_room = over.fibers + over.parts;
	ret->choice = &m->choice;
	return 0;
}
