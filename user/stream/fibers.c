/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/fibers.h"

#include "base/ptrarray.h"
#include "base/ptrmap.h"
#include "session/event_args.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Objects whose types are remembered. Direct-mapped: those that share a slot replace each other. */
#define OBJECTS 16384
/* Memory of parts that have ended, for the next ones. */
#define SPARE_PARTS 64

struct object {
	int64_t id;
	uint32_t process;
	uint8_t type; /* 0: free */
};

/* The fibers of one domain, and what its next event may still concern. */
struct domain {
	struct domain *sibling; /* of the same process */
	uint32_t process, lane;
	uint16_t domain;
	bool in_ring;		      /* its last event has a position in a ring */
	struct fiber *first, *newest; /* all of them */
	struct fiber *running;	      /* NULL: none, or it is not followed */
	struct fiber *suspended;      /* the last, while no fiber has run since */
	struct fiber *held;	      /* made, and not visited yet */
	struct fiber_part *held_part; /* likewise */
	bool refuses;		      /* its last event made a fiber that is not followed */
	int64_t refused;
	uint64_t resumed_ns; /* its last eio.suspend_domain ended; 0: none has */
};

struct process_fibers {
	struct domain *first, *newest;
	PTRMAP(struct fiber) fibers;	    /* by id */
	PTRMAP(struct fiber_part) contexts; /* that are open, by id */
	PTRMAP(struct fiber) waiting;	    /* by object: the first that waits for it */
};

struct fibers {
	const struct session *session;
	const struct fibers_visitor *visitor;
	void *ctx;
	struct fiber_texts texts;
	struct fiber_part *spare; /* SPARE_PARTS at most, a list by `outer` */
	uint32_t spares;
	PTRARRAY(struct process_fibers) processes; /* by process */
	PTRARRAY(struct domain) domains;	   /* by lane */
	struct domain *last;			   /* of the last event; NULL: not known */
	struct object *objects;			   /* OBJECTS; NULL: none was made */
	uint32_t open, parts, numbers;
	uint64_t arrows;
	struct fibers_limits over;
};

int fibers_new(const struct session *s, const struct fibers_visitor *v, void *ctx,
	       struct fibers **ret)
{
	struct fibers *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	if (fiber_texts_init(&f->texts)) {
		free(f);
		return -ENOMEM;
	}
	f->session = s;
	f->visitor = v;
	f->ctx = ctx;
	*ret = f;
	return 0;
}

static void free_process(struct process_fibers *p)
{
	ptrmap_done(&p->fibers);
	ptrmap_done(&p->contexts);
	ptrmap_done(&p->waiting);
	free(p);
}

static void free_fibers(struct fibers *f, struct domain *d)
{
	for (struct fiber *fiber = d->first, *next; fiber; fiber = next) {
		next = fiber->next;
		if (f->visitor->forget)
			f->visitor->forget(f->ctx, fiber);
		for (struct fiber_part *p = fiber->inner, *outer; p; p = outer) {
			outer = p->outer;
			free(p);
		}
		free(fiber);
	}
}

void fibers_free(struct fibers *f)
{
	if (!f)
		return;
	size_t at = 0;
	for (struct domain *d; (d = ptrarray_next(&f->domains, &at));)
		free_fibers(f, d);
	ptrarray_free(&f->domains);
	at = 0;
	for (struct process_fibers *p; (p = ptrarray_next(&f->processes, &at));)
		free_process(p);
	ptrarray_done(&f->processes);
	for (struct fiber_part *p; (p = f->spare);) {
		f->spare = p->outer;
		free(p);
	}
	fiber_texts_done(&f->texts);
	free(f->objects);
	free(f);
}

const char *fibers_text(const struct fibers *f, uint32_t id)
{
	return id ? strings_text(f->texts.strings, id) : NULL;
}

uint32_t fibers_count(const struct fibers *f)
{
	return f->open;
}

struct fibers_limits fibers_over_limits(const struct fibers *f)
{
	struct fibers_limits over = f->over;
	over.texts = f->texts.over;
	return over;
}

void fibers_hold_text(struct fibers *f, uint32_t id)
{
	strings_hold(f->texts.strings, id);
}

void fibers_drop_text(struct fibers *f, uint32_t id)
{
	fiber_texts_drop(&f->texts, id);
}

uint64_t *fibers_text_user(struct fibers *f, uint32_t id)
{
	return fiber_texts_user(&f->texts, id);
}

static struct process_fibers *process_of(struct fibers *f, uint32_t process)
{
	return ptrarray_get(&f->processes, process);
}

static struct domain *domain_at(struct fibers *f, uint32_t lane)
{
	return ptrarray_get(&f->domains, lane);
}

/* NULL: -ENOMEM. */
static struct domain *add_domain(struct fibers *f, const struct ebt_event *ev, uint32_t lane)
{
	bool is_new;
	struct process_fibers *p = ptrarray_make(&f->processes, ev->process, &is_new);
	struct domain *d = p && lane ? ptrarray_make(&f->domains, lane, &is_new) : NULL;
	if (!d)
		return NULL;
	d->process = ev->process;
	d->lane = lane;
	d->domain = ev->domain;
	*(p->newest ? &p->newest->sibling : &p->first) = d;
	p->newest = d;
	return d;
}

/* NULL: -ENOMEM. */
static inline struct domain *domain_of(struct fibers *f, const struct ebt_event *ev)
{
	struct domain *d = f->last;
	if (d && d->process == ev->process && d->domain == ev->domain)
		return d;
	uint32_t lane = processes_lane_of(&f->session->processes, ev);
	d = domain_at(f, lane);
	if (!d && !(d = add_domain(f, ev, lane)))
		return NULL;
	f->last = d->domain == EBT_NO_DOMAIN ? NULL : d;
	return d;
}

static int visit_begin(struct fibers *f, struct fiber *fiber)
{
	return f->visitor->begin ? f->visitor->begin(f->ctx, fiber) : 0;
}

/* The visit to a creation that was delayed for a name. */
static int release(struct fibers *f, struct domain *d)
{
	struct fiber *fiber = d->held;
	struct fiber_part *part = d->held_part;
	d->held = NULL;
	d->held_part = NULL;
	if (fiber)
		return visit_begin(f, fiber);
	return part && f->visitor->open ? f->visitor->open(f->ctx, part->fiber, part) : 0;
}

static void stop_waiting(struct fibers *f, struct fiber *fiber)
{
	fiber->wants = false;
	if (!fiber->waits)
		return;
	fiber->waits = false;
	struct process_fibers *p = process_of(f, fiber->process);
	/* The first of a list has the last as its prev_waiting. */
	struct fiber *first = ptrmap_get(&p->waiting, (uint64_t)fiber->object);
	if (fiber->next_waiting)
		fiber->next_waiting->prev_waiting = fiber->prev_waiting;
	else if (first != fiber)
		first->prev_waiting = fiber->prev_waiting;
	if (first != fiber)
		fiber->prev_waiting->next_waiting = fiber->next_waiting;
	else if (fiber->next_waiting)
		ptrmap_set(&p->waiting, (uint64_t)fiber->object, fiber->next_waiting);
	else
		ptrmap_remove(&p->waiting, (uint64_t)fiber->object);
}

static int start_waiting(struct fibers *f, struct fiber *fiber, int64_t object)
{
	struct process_fibers *p = process_of(f, fiber->process);
	stop_waiting(f, fiber);
	struct fiber *first = ptrmap_get(&p->waiting, (uint64_t)object);
	if (!first && ptrmap_set(&p->waiting, (uint64_t)object, fiber))
		return -ENOMEM;
	fiber->prev_waiting = first ? first->prev_waiting : fiber;
	fiber->next_waiting = NULL;
	if (first) {
		first->prev_waiting->next_waiting = fiber;
		first->prev_waiting = fiber;
	}
	fiber->object = object;
	fiber->waits = true;
	return 0;
}

unsigned fibers_open_intervals(const struct fiber *f, uint64_t end_ns,
			       struct fiber_interval ret[FIBER_OPEN_INTERVALS])
{
	struct fiber_interval i = {.state = (enum fiber_state)f->state,
				   .operation = f->operation,
				   .begin_ns = f->since_ns,
				   .end_ns = end_ns,
				   .how = TRACK_UNFINISHED};
	unsigned n = 0;
	if (i.state == FIBER_RUNNING)
		i.arrow = f->arrow;
	if (i.state == FIBER_SUSPENDED && f->ready_ns && f->ready_ns < end_ns) {
		ret[n] = i;
		ret[n].how = TRACK_ENDED;
		ret[n].end_ns = f->ready_ns;
		n += f->ready_ns > i.begin_ns;
		i.begin_ns = f->ready_ns > i.begin_ns ? f->ready_ns : i.begin_ns;
		i.state = FIBER_READY;
		i.operation = 0;
	}
	ret[n] = i;
	return n + (end_ns > i.begin_ns);
}

/* Ends the interval that is open at `ts`, and begins the next one there. */
static int cut_interval(struct fibers *f, struct fiber *fiber, uint64_t ts, enum track_end how)
{
	struct fiber_interval interval[FIBER_OPEN_INTERVALS];
	if (ts <= fiber->since_ns)
		return 0;
	unsigned n = fibers_open_intervals(fiber, ts, interval);
	interval[n - 1].how = how;
	fiber->since_ns = ts;
	if (fiber->state == FIBER_RUNNING)
		fiber->arrow = 0;
	int err = f->visitor->spent ? f->visitor->spent(f->ctx, fiber, interval) : 0;
	return n < 2 || err || !f->visitor->spent ? err
						  : f->visitor->spent(f->ctx, fiber, interval + 1);
}

static int change_state(struct fibers *f, struct fiber *fiber, uint64_t ts, enum fiber_state state)
{
	int err = cut_interval(f, fiber, ts, TRACK_ENDED);
	fiber_texts_drop(&f->texts, fiber->operation);
	fiber->operation = 0;
	fiber->ready_ns = 0;
	fiber->state = (uint8_t)state;
	return err;
}

/* Its content is any. NULL: no memory. */
static struct fiber_part *make_part(struct fibers *f)
{
	struct fiber_part *p = f->spare;
	if (!p)
		return malloc(sizeof(*p));
	f->spare = p->outer;
	f->spares--;
	return p;
}

static void free_part(struct fibers *f, struct fiber_part *p)
{
	if (f->spares == SPARE_PARTS) {
		free(p);
		return;
	}
	p->outer = f->spare;
	f->spare = p;
	f->spares++;
}

static int close_inner(struct fibers *f, struct fiber *fiber, uint64_t ts, enum track_end how)
{
	struct process_fibers *process = process_of(f, fiber->process);
	struct fiber_part *p = fiber->inner;
	int err = f->visitor->close ? f->visitor->close(f->ctx, fiber, p, ts, how) : 0;
	fiber->inner = p->outer;
	if (p->is_context && ptrmap_get(&process->contexts, (uint64_t)p->id) == p)
		ptrmap_remove(&process->contexts, (uint64_t)p->id);
	fiber_texts_drop(&f->texts, p->name);
	free_part(f, p);
	f->parts--;
	return err;
}

static void unlink_fiber(struct domain *d, struct fiber *fiber)
{
	*(fiber->prev ? &fiber->prev->next : &d->first) = fiber->next;
	*(fiber->next ? &fiber->next->prev : &d->newest) = fiber->prev;
	if (d->running == fiber)
		d->running = NULL;
	if (d->suspended == fiber)
		d->suspended = NULL;
}

/* Its memory is freed, whatever the visits return. */
static int end_fiber(struct fibers *f, struct fiber *fiber, uint64_t ts, enum track_end how)
{
	struct domain *d = domain_at(f, fiber->lane);
	int err = release(f, d), failed = cut_interval(f, fiber, ts, how);
	err = err ? err : failed;
	while (fiber->inner) {
		failed = close_inner(f, fiber, fiber->since_ns,
				     how == TRACK_ENDED ? TRACK_OUTER : how);
		err = err ? err : failed;
	}
	if (!err && f->visitor->end)
		err = f->visitor->end(f->ctx, fiber, fiber->since_ns, how);
	else if (f->visitor->forget)
		f->visitor->forget(f->ctx, fiber);
	stop_waiting(f, fiber);
	unlink_fiber(d, fiber);
	ptrmap_remove(&process_of(f, fiber->process)->fibers, (uint64_t)fiber->id);
	fiber_texts_drop(&f->texts, fiber->name);
	fiber_texts_drop(&f->texts, fiber->group);
	fiber_texts_drop(&f->texts, fiber->operation);
	free(fiber);
	f->open--;
	return err;
}

static int end_domain(struct fibers *f, struct domain *d, uint64_t ts, enum track_end how)
{
	int err = 0;
	while (d->first) {
		int failed = end_fiber(f, d->first, ts, how);
		err = err ? err : failed;
	}
	d->refuses = false;
	return err;
}

/* A fiber that is ready at `ts`. *ret NULL: it is not followed. */
static int add_fiber(struct fibers *f, struct domain *d, int64_t id, uint64_t ts,
		     struct fiber **ret)
{
	*ret = NULL;
	if (f->open >= FIBERS_OPEN) {
		f->over.fibers++;
		return 0;
	}
	struct process_fibers *p = process_of(f, d->process);
	struct fiber *fiber = calloc(1, sizeof(*fiber));
	if (!fiber || ptrmap_set(&p->fibers, (uint64_t)id, fiber)) {
		free(fiber);
		return -ENOMEM;
	}
	fiber->id = id;
	fiber->number = ++f->numbers;
	fiber->process = d->process;
	fiber->lane = d->lane;
	fiber->domain = d->domain;
	fiber->begin_ns = fiber->since_ns = ts;
	fiber->prev = d->newest;
	*(d->newest ? &d->newest->next : &d->first) = fiber;
	d->newest = fiber;
	f->open++;
	*ret = fiber;
	return 0;
}

/* What a fiber made in this context belongs to. */
static uint32_t group_of(struct fibers *f, const struct fiber_part *context)
{
	if (!context)
		return 0;
	uint32_t name = context->name ? context->name : context->fiber->group;
	strings_hold(f->texts.strings, name);
	return name;
}

static int create_fiber(struct fibers *f, struct domain *d, const struct eio_record *r, uint64_t ts)
{
	struct process_fibers *p = process_of(f, d->process);
	struct fiber *fiber = ptrmap_get(&p->fibers, (uint64_t)r->id);
	int err = fiber ? end_fiber(f, fiber, ts, TRACK_LOST) : 0;
	if (!err)
		err = add_fiber(f, d, r->id, ts, &fiber);
	if (err)
		return err;
	d->refuses = !fiber;
	d->refused = r->id;
	if (!fiber)
		return 0;
	fiber->created = true;
	fiber->context = r->context;
	fiber->group = group_of(f, ptrmap_get(&p->contexts, (uint64_t)r->context));
	d->held = fiber;
	return 0;
}

/* The running fiber, if there is one, could go on, and does not. */
static int displace(struct fibers *f, struct domain *d, uint64_t ts)
{
	struct fiber *fiber = d->running;
	d->running = NULL;
	if (!fiber)
		return 0;
	int err = change_state(f, fiber, ts, FIBER_READY);
	fiber->arrow = 0;
	return err;
}

/* *ret: the fiber, which is this domain's; NULL: it is not followed. */
static int find_to_run(struct fibers *f, struct domain *d, int64_t id, uint64_t ts,
		       struct fiber **ret)
{
	struct fiber *fiber = ptrmap_get(&process_of(f, d->process)->fibers, (uint64_t)id);
	int err = 0;
	if (fiber && fiber->lane != d->lane) {
		err = end_fiber(f, fiber, ts, TRACK_LOST);
		fiber = NULL;
	}
	bool refused = d->refuses && d->refused == id;
	d->refuses = false;
	if (!fiber && !refused && !err) {
		err = add_fiber(f, d, id, ts, &fiber);
		if (!err && fiber)
			err = visit_begin(f, fiber);
	}
	*ret = fiber;
	return err;
}

static int run_fiber(struct fibers *f, struct domain *d, int64_t id, uint64_t ts)
{
	struct fiber *fiber;
	int err = find_to_run(f, d, id, ts, &fiber);
	if (err || (fiber && fiber == d->running))
		return err;
	err = displace(f, d, ts);
	d->suspended = NULL;
	if (err || !fiber)
		return err;
	if (fiber->state == FIBER_SUSPENDED && !fiber->ready_ns && d->resumed_ns > fiber->since_ns)
		fiber->ready_ns = d->resumed_ns;
	stop_waiting(f, fiber);
	d->running = fiber;
	err = change_state(f, fiber, ts, FIBER_RUNNING);
	return !err && f->visitor->run ? f->visitor->run(f->ctx, fiber) : err;
}

static int suspend_fiber(struct fibers *f, struct domain *d, const struct eio_record *r,
			 uint64_t ts)
{
	struct fiber *fiber = d->running;
	if (!fiber)
		return 0;
	int err = change_state(f, fiber, ts, FIBER_SUSPENDED);
	fiber->arrow = 0;
	int failed = fiber_texts_keep(&f->texts, r, &fiber->operation);
	err = err ? err : failed;
	d->running = NULL;
	d->suspended = fiber;
	if (!err && fiber->wants)
		err = start_waiting(f, fiber, fiber->object);
	return err;
}

static int suspend_domain(struct fibers *f, struct domain *d, const struct eio_record *r,
			  uint64_t ts)
{
	if (r->begins)
		return displace(f, d, ts);
	d->resumed_ns = ts;
	return 0;
}

static int open_part(struct fibers *f, struct domain *d, const struct eio_record *r, uint64_t ts)
{
	struct fiber *fiber = d->running;
	bool is_context = r->event == EIO_CREATE_CC;
	if (!fiber)
		return 0;
	unsigned depth = fiber->inner ? fiber->inner->depth + 1u : 0;
	if (fiber->skipped[0] || fiber->skipped[1] || depth >= FIBERS_DEPTH ||
	    f->parts >= FIBERS_PARTS) {
		fiber->skipped[is_context]++;
		f->over.parts++;
		return 0;
	}
	struct process_fibers *process = process_of(f, d->process);
	struct fiber_part *p = make_part(f);
	if (!p || (is_context && ptrmap_set(&process->contexts, (uint64_t)r->id, p))) {
		free(p);
		return -ENOMEM;
	}
	int err = cut_interval(f, fiber, ts, TRACK_ENDED);
	p->outer = fiber->inner;
	p->begin_ns = fiber->since_ns;
	p->id = is_context ? r->id : 0;
	p->name = 0;
	p->is_context = is_context;
	p->type = r->type;
	p->depth = (uint16_t)depth;
	p->fiber = fiber;
	int failed = is_context ? 0 : fiber_texts_keep(&f->texts, r, &p->name);
	fiber->inner = p;
	f->parts++;
	d->held_part = p;
	return err ? err : failed;
}

static int close_part(struct fibers *f, struct domain *d, bool is_context, uint64_t ts)
{
	struct fiber *fiber = d->running;
	if (!fiber)
		return 0;
	if (fiber->skipped[is_context]) {
		fiber->skipped[is_context]--;
		return 0;
	}
	struct fiber_part *p = fiber->inner;
	while (p && p->is_context != is_context)
		p = p->outer;
	if (!p)
		return 0;
	int err = cut_interval(f, fiber, ts, TRACK_ENDED);
	/* What was open inside it, followed or not, ends with it. */
	fiber->skipped[!is_context] = 0;
	while (!err && fiber->inner != p)
		err = close_inner(f, fiber, fiber->since_ns, TRACK_OUTER);
	return err ? err : close_inner(f, fiber, fiber->since_ns, TRACK_ENDED);
}

static int create_object(struct fibers *f, struct domain *d, const struct eio_record *r)
{
	if (!f->objects)
		f->objects = calloc(OBJECTS, sizeof(*f->objects));
	if (!f->objects)
		return -ENOMEM;
	f->objects[(uint64_t)r->id % OBJECTS] =
		(struct object){.id = r->id, .process = d->process, .type = r->type};
	return 0;
}

static bool is_promise(const struct fibers *f, const struct domain *d, int64_t id)
{
	const struct object *o = f->objects ? &f->objects[(uint64_t)id % OBJECTS] : NULL;
	return o && o->id == id && o->process == d->process && o->type == EIO_PROMISE;
}

static int try_get(struct fibers *f, struct domain *d, int64_t object)
{
	if (d->running) {
		d->running->wants = true;
		d->running->object = object;
	}
	return !d->running && d->suspended ? start_waiting(f, d->suspended, object) : 0;
}

/* The number of fibers that wait for an object, up to `most`. */
static unsigned count_waiting(struct process_fibers *p, int64_t object, unsigned most)
{
	unsigned count = 0;
	const struct fiber *fiber = ptrmap_get(&p->waiting, (uint64_t)object);
	for (; fiber && count < most; fiber = fiber->next_waiting)
		count++;
	return count;
}

/* A promise lets all go on that wait for it; of any other object, only the first is known to. */
static int put(struct fibers *f, struct domain *d, int64_t object, const struct ebt_event *ev)
{
	struct process_fibers *p = process_of(f, d->process);
	bool all = is_promise(f, d, object);
	unsigned count = count_waiting(p, object, all ? FIBERS_ARROWS : 1);
	uint64_t arrow = f->arrows + 1;
	int drawn = count && f->visitor->put ? f->visitor->put(f->ctx, d->running, ev, arrow, count)
					     : 1;
	if (drawn < 0)
		return drawn;
	f->arrows += count;
	for (struct fiber *fiber; (fiber = ptrmap_get(&p->waiting, (uint64_t)object));) {
		stop_waiting(f, fiber);
		fiber->ready_ns = ev->ts;
		if (!drawn && count) {
			fiber->arrow = arrow++;
			count--;
		}
		if (!all)
			break;
	}
	return 0;
}

static int set_name(struct fibers *f, struct domain *d, const struct eio_record *r)
{
	uint32_t *name = d->held ? &d->held->name : &d->held_part->name;
	fiber_texts_drop(&f->texts, *name);
	return fiber_texts_keep(&f->texts, r, name);
}

static bool is_held(const struct domain *d, int64_t id)
{
	return d->held ? d->held->id == id
		       : d->held_part && d->held_part->is_context && d->held_part->id == id;
}

static int push_record(struct fibers *f, struct domain *d, const struct ebt_event *ev,
		       const struct eio_record *r)
{
	struct fiber *fiber;
	switch (r->event) {
	case EIO_CREATE_FIBER:
		return create_fiber(f, d, r, ev->ts);
	case EIO_FIBER:
		return run_fiber(f, d, r->id, ev->ts);
	case EIO_EXIT_FIBER:
		fiber = ptrmap_get(&process_of(f, d->process)->fibers, (uint64_t)r->id);
		return fiber ? end_fiber(f, fiber, ev->ts, TRACK_ENDED) : 0;
	case EIO_SUSPEND_FIBER:
		return suspend_fiber(f, d, r, ev->ts);
	case EIO_SUSPEND_DOMAIN:
		return suspend_domain(f, d, r, ev->ts);
	case EIO_CREATE_CC:
	case EIO_ENTER_SPAN:
		return open_part(f, d, r, ev->ts);
	case EIO_EXIT_CC:
	case EIO_EXIT_SPAN:
		return close_part(f, d, r->event == EIO_EXIT_CC, ev->ts);
	case EIO_CREATE_OBJ:
		return create_object(f, d, r);
	case EIO_TRY_GET:
		return try_get(f, d, r->id);
	case EIO_GET:
		if (d->running)
			d->running->wants = false;
		return 0;
	case EIO_PUT:
		return put(f, d, r->id, ev);
	case EIO_LOG:
	case EIO_ERROR:
		return f->visitor->note ? f->visitor->note(f->ctx, d->running, ev, r) : 0;
	case EIO_NAME:
	case EIO_DOMAIN_SPAWN:
	case EIO_NONE:
	case EIO_EVENTS:
		break;
	}
	return 0;
}

int fibers_push_record(struct fibers *f, const struct ebt_event *ev, const struct eio_record *r)
{
	struct domain *d = domain_of(f, ev);
	if (!d)
		return -ENOMEM;
	d->in_ring = ev->pos != EBT_NO_POS;
	if (r->event == EIO_NAME && is_held(d, r->id))
		return set_name(f, d, r);
	int err = d->held || d->held_part ? release(f, d) : 0;
	return err ? err : push_record(f, d, ev, r);
}

/* Of the domains that a loss without one concerns, as stream/tracks.h says it of tracks. */
static int lose_process(struct fibers *f, struct process_fibers *p, const struct ebt_event *ev)
{
	int err = 0;
	for (struct domain *d = p->first; d && !err; d = d->sibling)
		if (!d->in_ring || EBT_LOST_ANYWHERE(ev))
			err = end_domain(f, d, EBT_LOST_SINCE(ev), TRACK_LOST);
	return err;
}

static int lose(struct fibers *f, const struct ebt_event *ev)
{
	int err = 0;
	if (ev->domain != EBT_NO_DOMAIN) {
		struct domain *d = domain_at(f, processes_lane_of(&f->session->processes, ev));
		return d ? end_domain(f, d, EBT_LOST_SINCE(ev), TRACK_LOST) : 0;
	}
	struct process_fibers *p = process_of(f, ev->process);
	if (ev->process)
		return p ? lose_process(f, p, ev) : 0;
	size_t at = 0;
	while (!err && (p = ptrarray_next(&f->processes, &at)))
		err = lose_process(f, p, ev);
	return err;
}

static int end_process(struct fibers *f, struct process_fibers *p, uint64_t ts, enum track_end how)
{
	int err = 0;
	for (struct domain *d = p ? p->first : NULL; d; d = d->sibling) {
		int failed = end_domain(f, d, ts, how);
		err = err ? err : failed;
	}
	return err;
}

int fibers_push(struct fibers *f, const struct ebt_event *ev)
{
	struct eio_record r;
	switch (ev->kind) {
	case EBT_UNIT:
	case EBT_INT:
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
	case EBT_CUSTOM:
		return event_args_meaning(f->session, ev, &r) ? fibers_push_record(f, ev, &r) : 0;
	case EBT_LOST:
		return lose(f, ev);
	case EBT_PROCESS:
		return ev->id == EBT_PROCESS_FORK
			       ? 0
			       : end_process(f, process_of(f, ev->process), ev->ts, TRACK_PROCESS);
	default:
		return 0;
	}
}

int fibers_forget(struct fibers *f, uint32_t process, uint64_t end_ns)
{
	struct process_fibers *p = process_of(f, process);
	if (!p)
		return 0;
	int err = end_process(f, p, end_ns, TRACK_PROCESS);
	ptrarray_remove(&f->processes, process);
	f->last = NULL;
	for (struct domain *d = p->first, *next; d; d = next) {
		next = d->sibling;
		free(ptrarray_remove(&f->domains, d->lane));
	}
	free_process(p);
	return err;
}

int fibers_end(struct fibers *f, uint64_t end_ns)
{
	size_t at = 0;
	int err = 0;
	for (struct process_fibers *p; !err && (p = ptrarray_next(&f->processes, &at));)
		err = end_process(f, p, end_ns, TRACK_UNFINISHED);
	return err;
}

int fibers_each(const struct fibers *f, int (*fn)(void *ctx, struct fiber *fiber), void *ctx)
{
	size_t at = 0;
	int err = 0;
	for (struct process_fibers *p; !err && (p = ptrarray_next(&f->processes, &at));)
		for (struct domain *d = p->first; d && !err; d = d->sibling)
			for (struct fiber *fiber = d->first; fiber && !err; fiber = fiber->next)
				err = fn(ctx, fiber);
	return err;
}
