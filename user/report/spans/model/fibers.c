/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/fibers.h"

#include "base/array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct operation {
	uint32_t name; /* a text, held; 0: it has none */
	uint64_t ns, count;
};

/* The sums of an open fiber. */
struct sums {
	uint64_t ns[3]; /* by enum fiber_state */
	uint64_t runs, arrows;
	uint32_t span, context; /* texts, held; 0: none yet */
	struct operation *operation;
	uint32_t operations;
	struct operation other; /* beyond FIBER_OPERATIONS */
	void *user;		/* the watcher's */
};

struct fibers_times {
	struct fibers *fibers;
	fibers_times_fn *done;
	void *ctx;
	const struct fibers_watch *watch; /* NULL: there is no watcher */
	void *watcher;
};

/* A snapshot, and what it reports to. */
struct snapshot {
	struct fibers_times *model;
	uint64_t now_ns;
	fibers_times_fn *fn;
	void *ctx;
};

static struct sums *sums_of(struct fiber *f)
{
	if (!f->user)
		f->user = calloc(1, sizeof(struct sums));
	return f->user;
}

static void free_sums(struct fibers_times *m, struct fiber *f)
{
	struct sums *s = f->user;
	f->user = NULL;
	if (!s)
		return;
	fibers_drop_text(m->fibers, s->span);
	fibers_drop_text(m->fibers, s->context);
	for (uint32_t i = 0; i < s->operations; i++)
		fibers_drop_text(m->fibers, s->operation[i].name);
	free(s->operation);
	free(s);
}

/* The sums of an operation, new ones if it is. NULL: -ENOMEM. */
static struct operation *operation_of(struct fibers_times *m, struct sums *s, uint32_t name)
{
	for (uint32_t i = 0; i < s->operations; i++)
		if (s->operation[i].name == name)
			return &s->operation[i];
	if (s->operations == FIBER_OPERATIONS)
		return &s->other;
	if (!array_more(s->operation, s->operations))
		return NULL;
	struct operation *o = &s->operation[s->operations++];
	*o = (struct operation){.name = name};
	fibers_hold_text(m->fibers, name);
	return o;
}

static int on_spent(void *ctx, struct fiber *f, const struct fiber_interval *i)
{
	struct fibers_times *m = ctx;
	struct sums *s = sums_of(f);
	int err = !s ? -ENOMEM : m->watch ? m->watch->spent(m->watcher, &s->user, f, i) : 0;
	if (err)
		return err;
	uint64_t ns = i->end_ns - i->begin_ns;
	s->ns[i->state] += ns;
	s->arrows += i->arrow != 0;
	if (i->state != FIBER_SUSPENDED)
		return 0;
	struct operation *o = operation_of(m, s, i->operation);
	if (!o)
		return -ENOMEM;
	o->ns += ns;
	o->count++;
	return 0;
}

/* Whether a part around it has a name, too, and is of its kind. */
static bool is_inside(const struct fiber_part *p)
{
	for (const struct fiber_part *o = p->outer; o; o = o->outer)
		if (o->name && o->is_context == p->is_context)
			return true;
	return false;
}

static int on_open(void *ctx, struct fiber *f, const struct fiber_part *p)
{
	struct fibers_times *m = ctx;
	struct sums *s = sums_of(f);
	if (!s)
		return -ENOMEM;
	uint32_t *name = p->is_context ? &s->context : &s->span;
	if (*name || !p->name || is_inside(p))
		return 0;
	*name = p->name;
	fibers_hold_text(m->fibers, *name);
	return 0;
}

static int on_run(void *ctx, struct fiber *f)
{
	struct sums *s = sums_of(f);
	(void)ctx;
	if (!s)
		return -ENOMEM;
	s->runs++;
	return 0;
}

static void put_operation(struct fiber_times *t, const struct operation *o, const char *name)
{
	t->operation[t->operations++] =
		(struct fiber_operation){.name = name, .ns = o->ns, .count = o->count};
}

static void get_times(struct fibers_times *m, const struct fiber *f, struct fiber_times *t)
{
	static const struct sums none;
	const struct sums *s = f->user ? f->user : &none;
	*t = (struct fiber_times){.id = f->id,
				  .process = f->process,
				  .domain = f->domain,
				  .created = f->created,
				  .begin_ns = f->begin_ns,
				  .end_ns = f->since_ns,
				  .span = fibers_text(m->fibers, s->span),
				  .context = fibers_text(m->fibers, s->context),
				  .name = fibers_text(m->fibers, f->name),
				  .group = fibers_text(m->fibers, f->group),
				  .running_ns = s->ns[FIBER_RUNNING],
				  .ready_ns = s->ns[FIBER_READY],
				  .suspended_ns = s->ns[FIBER_SUSPENDED],
				  .runs = s->runs,
				  .arrows = s->arrows,
				  .user = s->user};
	for (uint32_t i = 0; i < s->operations; i++) {
		const struct operation *o = &s->operation[i];
		put_operation(t, o, o->name ? fibers_text(m->fibers, o->name) : "");
	}
	if (s->other.count)
		put_operation(t, &s->other, NULL);
}

static int on_end(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how)
{
	struct fibers_times *m = ctx;
	struct fiber_times t;
	get_times(m, f, &t);
	t.end_ns = end_ns;
	t.how = how;
	int err = m->done(m->ctx, &t);
	free_sums(m, f);
	return err;
}

static void on_forget(void *ctx, struct fiber *f)
{
	const struct fibers_times *m = ctx;
	const struct sums *s = f->user;
	if (s && s->user && m->watch)
		m->watch->forget(m->watcher, s->user);
	free_sums(ctx, f);
}

static const struct fibers_visitor visitor = {
	.run = on_run, .open = on_open, .spent = on_spent, .end = on_end, .forget = on_forget};

int fibers_times_new(const struct session *s, fibers_times_fn *done, void *ctx,
		     struct fibers_times **ret)
{
	struct fibers_times *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->done = done;
	m->ctx = ctx;
	if (fibers_new(s, &visitor, m, &m->fibers)) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

void fibers_times_watch(struct fibers_times *m, const struct fibers_watch *w, void *ctx)
{
	m->watch = w;
	m->watcher = ctx;
}

void fibers_times_free(struct fibers_times *m)
{
	if (m)
		fibers_free(m->fibers);
	free(m);
}

int fibers_times_event(struct fibers_times *m, const struct ebt_event *ev)
{
	return fibers_push(m->fibers, ev);
}

int fibers_times_record(struct fibers_times *m, const struct ebt_event *ev,
			const struct eio_record *r)
{
	return fibers_push_record(m->fibers, ev, r);
}

int fibers_times_forget(struct fibers_times *m, uint32_t process, uint64_t end_ns)
{
	return fibers_forget(m->fibers, process, end_ns);
}

int fibers_times_end(struct fibers_times *m, uint64_t end_ns)
{
	return fibers_end(m->fibers, end_ns);
}

/* Adds an open interval to the times; the sums stay. */
static void add_interval(struct fibers_times *m, struct fiber_times *t,
			 const struct fiber_interval *i)
{
	uint64_t ns = i->end_ns - i->begin_ns;
	t->end_ns = i->end_ns;
	t->running_ns += i->state == FIBER_RUNNING ? ns : 0;
	t->ready_ns += i->state == FIBER_READY ? ns : 0;
	t->arrows += i->arrow != 0;
	if (i->state != FIBER_SUSPENDED)
		return;
	t->suspended_ns += ns;
	const char *name = i->operation ? fibers_text(m->fibers, i->operation) : "";
	unsigned at = 0;
	while (at < t->operations && t->operation[at].name &&
	       strcmp(t->operation[at].name, name) != 0)
		at++;
	if (at == t->operations)
		t->operation[t->operations++].name = at < FIBER_OPERATIONS ? name : NULL;
	t->operation[at].ns += ns;
	t->operation[at].count++;
}

static int report_open(void *ctx, struct fiber *f)
{
	struct snapshot *s = ctx;
	struct fiber_interval interval[FIBER_OPEN_INTERVALS];
	struct fiber_times t;
	get_times(s->model, f, &t);
	t.how = TRACK_UNFINISHED;
	unsigned n = fibers_open_intervals(f, s->now_ns, interval);
	for (unsigned i = 0; i < n; i++)
		add_interval(s->model, &t, &interval[i]);
	return s->fn(s->ctx, &t);
}

int fibers_times_snapshot(struct fibers_times *m, uint64_t now_ns, fibers_times_fn *fn, void *ctx)
{
	struct snapshot s = {.model = m, .now_ns = now_ns, .fn = fn, .ctx = ctx};
	return fibers_each(m->fibers, report_open, &s);
}

const char *fibers_times_text(const struct fibers_times *m, uint32_t id)
{
	return fibers_text(m->fibers, id);
}

struct fibers_limits fibers_times_over_limits(const struct fibers_times *m)
{
	return fibers_over_limits(m->fibers);
}
