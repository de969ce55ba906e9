/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/lives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ptrarray.h"
#include "session/event_args.h"

#define STRETCHES 1024 /* of a domain that are kept, a power of two */

/* What a domain did lately, and all that it had done before that. */
struct stretch {
	uint64_t begin_ns, end_ns;
	enum span_domain_state state;
	uint64_t before[SPAN_DOMAIN_STATES];
};

/* What a domain does, since when. */
struct domain_life {
	uint32_t process, lane;
	uint32_t at;		      /* its entry in `domains` */
	enum span_domain_state state; /* SPAN_DOMAIN_STATES: not known */
	uint64_t since_ns;
	uint64_t stretches; /* that there ever were */
	struct stretch stretch[STRETCHES];
};

/* All that a domain has done up to a moment. */
struct done {
	bool known;
	uint64_t at_ns;
	uint64_t ns[SPAN_DOMAIN_STATES];
};

/* A fiber that has not ended. */
struct life {
	struct open_span open; /* the first member: it is freed as one */
	struct done done;      /* of its domain, at the end of its last interval */
	uint64_t suspended_while[SPAN_DOMAIN_STATES + 1];
};

struct fiber_lives {
	const struct session *session;
	struct fiber_lives_host host;
	struct fibers_times *times;
	PTRARRAY(struct domain_life) lives; /* by lane */
	struct span_domain *domains;
	uint32_t count, cap;
};

/* The moment, or the begin of the run if that is later. */
static uint64_t clip(const struct fiber_lives *l, uint64_t ns)
{
	const struct moment *run = &l->session->run_begin;
	return run->known && ns < run->ns ? run->ns : ns;
}

static int add(void *ctx, const struct span_segment *s)
{
	return open_span_add(ctx, s);
}

/* ---- domains ---- */

/* Where the pieces of a domain's time go. */
struct account {
	struct domain_life *life;
	struct span_domain *domain;
};

static int on_piece(void *ctx, const struct span_segment *s)
{
	struct account *a = ctx;
	struct domain_life *d = a->life;
	enum span_domain_state state = s->kind == SPAN_COLLECTED ? SPAN_DOMAIN_COLLECTED : d->state;
	struct stretch *last = &d->stretch[(d->stretches - 1) % STRETCHES];
	if (!d->stretches || last->state != state || last->end_ns != s->begin_ns) {
		last = &d->stretch[d->stretches++ % STRETCHES];
		*last = (struct stretch){.begin_ns = s->begin_ns, .state = state};
		memcpy(last->before, a->domain->ns, sizeof(last->before));
	}
	last->end_ns = s->end_ns;
	a->domain->ns[state] += s->end_ns - s->begin_ns;
	return 0;
}

/* From this moment on it does something else. */
static int change(struct fiber_lives *l, struct domain_life *d, enum span_domain_state state,
		  uint64_t ns)
{
	struct account a = {d, &l->domains[d->at]};
	uint64_t from = clip(l, d->since_ns);
	int err = 0;
	if (d->state != SPAN_DOMAIN_STATES && ns > from)
		err = l->host.walk(l->host.ctx, d->process, d->lane, from, ns, on_piece, &a);
	d->state = state;
	d->since_ns = ns;
	l->host.needs(l->host.ctx, d->lane, ns);
	return err;
}

/* NULL: no memory. */
static struct domain_life *life_of(struct fiber_lives *l, const struct ebt_event *ev)
{
	bool is_new;
	uint32_t lane = processes_lane_of(&l->session->processes, ev);
	struct domain_life *d = lane ? ptrarray_make(&l->lives, lane, &is_new) : NULL;
	if (!d || !is_new)
		return d;
	if (!array_reserve(l->domains, l->cap, l->count)) {
		free(ptrarray_remove(&l->lives, lane));
		return NULL;
	}
	*d = (struct domain_life){
		.process = ev->process, .lane = lane, .at = l->count, .state = SPAN_DOMAIN_STATES};
	l->domains[l->count++] = (struct span_domain){
		.pid = processes_pid(&l->session->processes, ev->process), .domain = ev->domain};
	return d;
}

/* All that the domain of a lane has done up to a moment, which has come. 0 or -ENOMEM. */
static int done_until(struct fiber_lives *l, uint32_t lane, uint64_t ns, struct done *ret)
{
	struct domain_life *d = ptrarray_get(&l->lives, lane);
	*ret = (struct done){.at_ns = ns};
	if (!d)
		return 0;
	int err = ns > d->since_ns ? change(l, d, d->state, ns) : 0;
	uint64_t low = d->stretches > STRETCHES ? d->stretches - STRETCHES : 0, high = d->stretches;
	const uint64_t oldest = low;
	while (low < high) { /* the first that ends behind it */
		uint64_t mid = low + (high - low) / 2;
		if (d->stretch[mid % STRETCHES].end_ns <= ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == d->stretches) {
		memcpy(ret->ns, l->domains[d->at].ns, sizeof(ret->ns));
		ret->known = true;
		return err;
	}
	const struct stretch *s = &d->stretch[low % STRETCHES];
	ret->known = low > oldest || !oldest || s->begin_ns <= ns;
	memcpy(ret->ns, s->before, sizeof(ret->ns));
	if (s->begin_ns < ns)
		ret->ns[s->state] += ns - s->begin_ns;
	return err;
}

/* ---- fibers ---- */

/* What its domain did while a fiber was suspended. */
static int note_suspended(struct fiber_lives *l, struct life *life, const struct fiber *f,
			  const struct span_segment *s)
{
	struct done from = life->done, to;
	uint64_t left = s->end_ns - s->begin_ns;
	int err = !from.known || from.at_ns != s->begin_ns
			  ? done_until(l, f->lane, s->begin_ns, &from)
			  : 0;
	if (!err)
		err = done_until(l, f->lane, s->end_ns, &to);
	for (unsigned i = 0; !err && from.known && to.known && i < SPAN_DOMAIN_STATES; i++) {
		uint64_t ns = to.ns[i] - from.ns[i];
		ns = ns < left ? ns : left;
		life->suspended_while[i] += ns;
		left -= ns;
	}
	life->suspended_while[SPAN_DOMAIN_STATES] += left;
	return err;
}

static int spend(struct fiber_lives *l, struct open_span *o, const struct fiber *f,
		 const struct fiber_interval *i)
{
	struct span_segment s = {.begin_ns = clip(l, i->begin_ns), .end_ns = i->end_ns};
	o->of.ns += s.end_ns - s.begin_ns;
	if (i->state == FIBER_RUNNING)
		return l->host.walk(l->host.ctx, f->process, f->lane, s.begin_ns, s.end_ns, add, o);
	s.kind = i->state == FIBER_READY ? SPAN_READY : SPAN_SUSPENDED;
	if (s.kind == SPAN_SUSPENDED) {
		s.detail = span_sums_text(l->host.sums, fibers_times_text(l->times, i->operation));
		int err = note_suspended(l, (struct life *)o, f, &s);
		if (err)
			return err;
	}
	return open_span_add(o, &s);
}

static int on_spent(void *ctx, void **user, const struct fiber *f, const struct fiber_interval *i)
{
	struct fiber_lives *l = ctx;
	struct life *life = *user;
	if (i->end_ns <= clip(l, i->begin_ns))
		return 0;
	if (!life && !(life = *user = calloc(1, sizeof(*life))))
		return -ENOMEM;
	life->open.stacks = l->session->stacks;
	int err = spend(l, &life->open, f, i);
	/* Behind any other one it is not suspended. */
	return err || i->state != FIBER_RUNNING ? err
						: done_until(l, f->lane, i->end_ns, &life->done);
}

static void on_forget(void *ctx, void *user)
{
	(void)ctx;
	open_span_free(user);
}

static const struct fibers_watch watch = {on_spent, on_forget};

/* Why a fiber has no length; SPAN_CUTS: it has. */
static enum span_cut cut_of(const struct fiber_lives *l, const struct fiber_times *t)
{
	if (t->how == TRACK_LOST)
		return SPAN_CUT_LOSS;
	if (!t->created || clip(l, t->begin_ns) != t->begin_ns)
		return SPAN_CUT_BEGIN;
	return t->how == TRACK_UNFINISHED ? SPAN_CUT_END
	       : t->how == TRACK_ENDED	  ? SPAN_CUTS
					  : SPAN_NOT_ENDED;
}

static int on_done(void *ctx, const struct fiber_times *t)
{
	struct fiber_lives *l = ctx;
	struct open_span *o = t->user;
	const char *name = fiber_times_name(t);
	if (!o)
		return 0;
	name = name && *name ? name : LIVES_NO_NAME;
	int err = 0;
	if (l->host.wants(l->host.ctx, name)) {
		enum span_cut cut = cut_of(l, t);
		char whole[SPAN_GROUP_BYTES];
		name = span_group_name(&l->host.by, l->session, t->process, NULL, name, whole);
		o->of.name =
			span_sums_name(l->host.sums, span_sums_text(l->host.sums, name), false);
		o->of.comm = span_sums_text(l->host.sums, span_program(l->session, t->process));
		o->of.pid = processes_pid(&l->session->processes, t->process);
		o->of.domain = t->domain;
		o->of.fiber = t->id;
		o->of.begin_ns = clip(l, t->begin_ns);
		for (unsigned i = 0; o->of.name && i <= SPAN_DOMAIN_STATES; i++)
			o->of.name->suspended_while[i] += ((struct life *)o)->suspended_while[i];
		err = !o->of.name	 ? -ENOMEM
		      : cut == SPAN_CUTS ? span_sums_add(l->host.sums, &o->of)
					 : span_sums_add_cut(l->host.sums, &o->of, cut);
	}
	open_span_free(o);
	return err;
}

/* ---- events ---- */

/* What the domain does behind an event of the library; SPAN_DOMAIN_STATES: what it did. */
static enum span_domain_state state_behind(const struct eio_record *r)
{
	switch (r->event) {
	case EIO_FIBER:
		return SPAN_DOMAIN_FIBERS;
	case EIO_SUSPEND_FIBER:
	case EIO_EXIT_FIBER:
		return SPAN_DOMAIN_SCHEDULER;
	case EIO_SUSPEND_DOMAIN:
		return r->begins ? SPAN_DOMAIN_SLEPT : SPAN_DOMAIN_SCHEDULER;
	default:
		return SPAN_DOMAIN_STATES;
	}
}

static int end_domains(struct fiber_lives *l, uint32_t process, uint64_t end_ns)
{
	size_t at = 0;
	int err = 0;
	for (struct domain_life *d; !err && (d = ptrarray_next(&l->lives, &at));)
		if (!process || d->process == process)
			err = change(l, d, SPAN_DOMAIN_STATES, end_ns);
	return err;
}

static int push_to_domain(struct fiber_lives *l, const struct ebt_event *ev,
			  const struct eio_record *r)
{
	enum span_domain_state state = state_behind(r);
	struct domain_life *d = life_of(l, ev);
	if (!d)
		return -ENOMEM;
	return state == SPAN_DOMAIN_STATES || state == d->state ? 0 : change(l, d, state, ev->ts);
}

/* ---- all of it ---- */

int fiber_lives_new(const struct session *s, const struct fiber_lives_host *host,
		    struct fiber_lives **ret)
{
	struct fiber_lives *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->session = s;
	l->host = *host;
	if (fibers_times_new(s, on_done, l, &l->times)) {
		free(l);
		return -ENOMEM;
	}
	fibers_times_watch(l->times, &watch, l);
	*ret = l;
	return 0;
}

void fiber_lives_free(struct fiber_lives *l)
{
	if (!l)
		return;
	fibers_times_free(l->times);
	ptrarray_free(&l->lives);
	free(l->domains);
	free(l);
}

int fiber_lives_event(struct fiber_lives *l, const struct ebt_event *ev)
{
	int err = ev->kind == EBT_LOST ? end_domains(l, ev->process, EBT_LOST_SINCE(ev)) : 0;
	return err ? err : fibers_times_event(l->times, ev);
}

int fiber_lives_record(struct fiber_lives *l, const struct ebt_event *ev,
		       const struct eio_record *r)
{
	int err = push_to_domain(l, ev, r);
	return err ? err : fibers_times_record(l->times, ev, r);
}

int fiber_lives_forget(struct fiber_lives *l, uint32_t process, uint64_t end_ns)
{
	size_t at = 0;
	int err = fibers_times_forget(l->times, process, end_ns);
	if (!err)
		err = end_domains(l, process, end_ns);
	for (struct domain_life *d; (d = ptrarray_next(&l->lives, &at));)
		if (d->process == process)
			free(ptrarray_remove(&l->lives, d->lane));
	return err;
}

int fiber_lives_end(struct fiber_lives *l, uint64_t end_ns)
{
	int err = fibers_times_end(l->times, end_ns);
	return err ? err : end_domains(l, 0, end_ns);
}

struct fibers_limits fiber_lives_over_limits(const struct fiber_lives *l)
{
	return fibers_times_over_limits(l->times);
}

const struct span_domain *fiber_lives_domains(const struct fiber_lives *l, uint32_t *ret_count)
{
	*ret_count = l->count;
	return l->domains;
}
