/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/tracks.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/ptrmap.h"

/* In the key of a track, in the place of its span: the thread's. */
#define OF_THREAD 0x80000000u

#define RECENT 64 /* tracks found without a look into the map */

/*
 * Nothing here may cost more than what it concerns: a trace can have any number of tracks, and any
 * number of losses. So open tracks are listed by what a loss can name: their domain, or their
 * process and whether a ring holds them.
 */
struct link {
	struct link *prev, *next;
};

struct list {
	struct link *first, *last;
};

struct family {
	uint32_t process;
	struct group *groups;
	struct list open[2];   /* stacks that are open: without a ring, in one */
	struct link listed[2]; /* in tracks.open, while there are any */
};

/* The tracks of one domain, or of a thread without one. */
struct group {
	struct family *process;
	struct group *sibling;
	struct stack *stacks;
	struct list open;
	uint32_t number;
	uint32_t tid;
	uint16_t domain;
};

struct stack {
	struct track track;
	struct group *group;
	struct stack *sibling;		  /* of the same group */
	struct stack *prev, *next;	  /* in order of appearance */
	struct link in_group, in_process; /* while it is open */
	uint64_t last_ns;
	uint32_t thread; /* whose part of its domain's phases it is; 0: all of them */
	bool in_ring;	 /* its last event has a position in a ring */
	unsigned depth, cap;
	struct track_span *open; /* `cap`: most tracks are never deep */
};

struct tracks {
	struct tracks_visitor visitor;
	PTRMAP(struct family) processes;
	PTRMAP(struct group) by_lane; /* by group_key() */
	PTRMAP(struct stack) stacks;  /* by stack_key() */
	struct list open[2];	      /* processes that have open stacks */
	struct stack *first, *last;
	struct stack *recent[RECENT];
	uint32_t count, groups;
	bool by_thread;
};

#define OF_LINK(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static void put_link(struct list *list, struct link *l)
{
	*l = (struct link){.prev = list->last};
	*(list->last ? &list->last->next : &list->first) = l;
	list->last = l;
}

static void take_link(struct list *list, struct link *l)
{
	*(l->prev ? &l->prev->next : &list->first) = l->next;
	*(l->next ? &l->next->prev : &list->last) = l->prev;
}

int tracks_new(const struct tracks_visitor *v, struct tracks **ret)
{
	struct tracks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->visitor = *v;
	*ret = t;
	return 0;
}

void tracks_free(struct tracks *t)
{
	if (!t)
		return;
	for (struct stack *s = t->first; s; s = s->next)
		free(s->open);
	ptrmap_free(&t->stacks);
	ptrmap_free(&t->by_lane);
	ptrmap_free(&t->processes);
	free(t);
}

void tracks_by_thread(struct tracks *t)
{
	t->by_thread = true;
}

/* The halves of a pair from a ring and from BPF are of one track: those have a position. */
static uint32_t thread_of(const struct tracks *t, const struct ebt_event *ev, uint32_t span)
{
	bool own = t->by_thread && span == TRACK_PHASES && ev->domain != EBT_NO_DOMAIN &&
		   ev->pos == EBT_NO_POS;
	return own ? ev->tid & ~OF_THREAD : 0;
}

static bool is_of(const struct stack *s, const struct ebt_event *ev, uint32_t thread, uint32_t span)
{
	const struct track *t = &s->track;
	return t->process == ev->process && t->span == span && t->domain == ev->domain &&
	       s->thread == thread && (ev->domain != EBT_NO_DOMAIN || t->tid == ev->tid);
}

static uint64_t group_key(uint32_t process, uint16_t domain, uint32_t tid)
{
	uint64_t lane = domain != EBT_NO_DOMAIN ? domain : 1ull << 32 | tid;
	return (uint64_t)process << 33 | lane;
}

static struct group *find_group(struct tracks *t, const struct ebt_event *ev)
{
	bool is_new;
	struct family *p = ptrmap_make(&t->processes, ev->process, &is_new);
	if (!p)
		return NULL;
	p->process = ev->process;
	struct group *g =
		ptrmap_make(&t->by_lane, group_key(ev->process, ev->domain, ev->tid), &is_new);
	if (!g || !is_new)
		return g;
	g->process = p;
	g->number = ++t->groups;
	g->domain = ev->domain;
	g->tid = ev->tid;
	g->sibling = p->groups;
	p->groups = g;
	return g;
}

static uint64_t stack_key(const struct group *g, uint32_t thread, uint32_t span)
{
	return (uint64_t)g->number << 32 | (thread ? OF_THREAD | thread : span);
}

static struct stack *find(struct tracks *t, const struct ebt_event *ev, uint32_t span)
{
	uint32_t lane = ev->domain != EBT_NO_DOMAIN ? ev->domain : ev->tid;
	uint32_t thread = thread_of(t, ev, span);
	struct stack **recent = &t->recent[(ev->process * 31 + lane + thread + span * 7) % RECENT];
	if (*recent && is_of(*recent, ev, thread, span))
		return *recent;
	struct group *g = find_group(t, ev);
	if (!g)
		return NULL;
	bool is_new;
	struct stack *s = ptrmap_make(&t->stacks, stack_key(g, thread, span), &is_new);
	if (!s || !is_new)
		return s ? *recent = s : NULL;
	s->track = (struct track){.number = ++t->count,
				  .process = ev->process,
				  .tid = ev->tid,
				  .domain = ev->domain,
				  .span = span};
	s->group = g;
	s->thread = thread;
	s->sibling = g->stacks;
	g->stacks = s;
	s->prev = t->last;
	*(t->last ? &t->last->next : &t->first) = s;
	t->last = s;
	return *recent = s;
}

struct track *tracks_of(struct tracks *t, const struct ebt_event *ev)
{
	struct stack *s = find(t, ev, TRACK_PHASES);
	return s ? &s->track : NULL;
}

/* A stack with open spans is in the lists of its group and of its process. */
static void list(struct tracks *t, struct stack *s)
{
	struct family *p = s->group->process;
	if (!p->open[s->in_ring].first)
		put_link(&t->open[s->in_ring], &p->listed[s->in_ring]);
	put_link(&p->open[s->in_ring], &s->in_process);
	put_link(&s->group->open, &s->in_group);
}

static void unlist(struct tracks *t, struct stack *s)
{
	struct family *p = s->group->process;
	take_link(&s->group->open, &s->in_group);
	take_link(&p->open[s->in_ring], &s->in_process);
	if (!p->open[s->in_ring].first)
		take_link(&t->open[s->in_ring], &p->listed[s->in_ring]);
}

static void set_in_ring(struct tracks *t, struct stack *s, bool in_ring)
{
	if (s->in_ring == in_ring)
		return;
	if (s->depth)
		unlist(t, s);
	s->in_ring = in_ring;
	if (s->depth)
		list(t, s);
}

static uint64_t moment(struct stack *s, uint64_t ns)
{
	if (ns > s->last_ns)
		s->last_ns = ns;
	return s->last_ns;
}

static int begin(struct tracks *t, struct stack *s, const struct ebt_event *ev)
{
	uint64_t now = moment(s, ev->ts);
	if (s->depth == TRACK_DEPTH)
		return 0;
	if (s->depth == s->cap) {
		unsigned cap = s->cap ? 2 * s->cap : 4;
		struct track_span *open = realloc(s->open, cap * sizeof(*open));
		if (!open)
			return -ENOMEM;
		s->open = open;
		s->cap = cap;
	}
	struct track_span *span = &s->open[s->depth];
	*span = (struct track_span){.id = ev->id, .begin_ns = now};
	if (!s->depth)
		list(t, s);
	return t->visitor.begin(t->visitor.ctx, &s->track, span, s->depth++, ev);
}

static int pop(struct tracks *t, struct stack *s, uint64_t now, enum track_end how)
{
	struct track_span *span = &s->open[--s->depth];
	if (!s->depth)
		unlist(t, s);
	else
		s->open[s->depth - 1].inner_ns += now - span->begin_ns;
	return t->visitor.end(t->visitor.ctx, &s->track, span, s->depth, now, how);
}

static int end(struct tracks *t, struct stack *s, const struct ebt_event *ev)
{
	uint64_t now = moment(s, ev->ts);
	unsigned at = s->depth;
	while (at && s->open[at - 1].id != ev->id)
		at--;
	int err = 0;
	while (at && !err && s->depth > at)
		err = pop(t, s, now, TRACK_OUTER);
	return at && !err ? pop(t, s, now, TRACK_ENDED) : err;
}

static int cut(struct tracks *t, struct stack *s, uint64_t ns, enum track_end how)
{
	uint64_t now = moment(s, ns);
	int err = 0;
	while (s->depth && !err)
		err = pop(t, s, now, how);
	return err;
}

static int cut_group(struct tracks *t, struct group *g, uint64_t ns, enum track_end how)
{
	int err = 0;
	while (!err && g->open.last) /* the last that began ends first */
		err = cut(t, OF_LINK(g->open.last, struct stack, in_group), ns, how);
	return err;
}

static int cut_process(struct tracks *t, struct family *p, bool in_ring, uint64_t ns)
{
	int err = 0;
	while (!err && p->open[in_ring].first)
		err = cut(t, OF_LINK(p->open[in_ring].first, struct stack, in_process), ns,
			  TRACK_LOST);
	return err;
}

static int cut_all(struct tracks *t, bool in_ring, uint64_t ns)
{
	int err = 0;
	while (!err && t->open[in_ring].first)
		err = cut_process(t,
				  OF_LINK(t->open[in_ring].first, struct family, listed[in_ring]),
				  in_ring, ns);
	return err;
}

/* A loss concerns the tracks of its domain; one without a domain, all that no ring holds. */
static int lose(struct tracks *t, const struct ebt_event *ev)
{
	uint64_t since = EBT_LOST_SINCE(ev);
	int err = 0;
	if (ev->domain != EBT_NO_DOMAIN) {
		struct group *g = ptrmap_get(&t->by_lane, group_key(ev->process, ev->domain, 0));
		return g ? cut_group(t, g, since, TRACK_LOST) : 0;
	}
	struct family *family = ptrmap_get(&t->processes, ev->process);
	for (int in_ring = 0; !err && in_ring <= EBT_LOST_ANYWHERE(ev); in_ring++) {
		if (!ev->process)
			err = cut_all(t, in_ring, since);
		else if (family)
			err = cut_process(t, family, in_ring, since);
	}
	return err;
}

static void forget_stack(struct tracks *t, struct stack *s)
{
	if (t->visitor.forget)
		t->visitor.forget(t->visitor.ctx, &s->track);
	ptrmap_take(&t->stacks, stack_key(s->group, s->thread, s->track.span));
	*(s->prev ? &s->prev->next : &t->first) = s->next;
	*(s->next ? &s->next->prev : &t->last) = s->prev;
	free(s->open);
	free(s);
}

int tracks_forget(struct tracks *t, uint32_t process, uint64_t end_ns)
{
	struct family *p = ptrmap_get(&t->processes, process);
	for (unsigned i = 0; p && i < RECENT; i++)
		t->recent[i] = NULL;
	for (struct group *g; p && (g = p->groups);) {
		for (struct stack *s; (s = g->stacks);) {
			int err = cut(t, s, end_ns, TRACK_PROCESS);
			if (err)
				return err;
			g->stacks = s->sibling;
			forget_stack(t, s);
		}
		p->groups = g->sibling;
		ptrmap_take(&t->by_lane, group_key(p->process, g->domain, g->tid));
		free(g);
	}
	free(ptrmap_take(&t->processes, process));
	return 0;
}

int tracks_push(struct tracks *t, const struct ebt_event *ev)
{
	bool phase = ev->kind == EBT_BEGIN || ev->kind == EBT_END;
	bool span = ev->kind == EBT_SPAN_BEGIN || ev->kind == EBT_SPAN_END;
	if (ev->kind == EBT_LOST)
		return lose(t, ev);
	if (ev->kind == EBT_PROCESS && ev->id != EBT_PROCESS_FORK)
		return tracks_forget(t, ev->process, ev->ts);
	if (!phase && !span)
		return 0;
	struct stack *s = find(t, ev, phase ? TRACK_PHASES : ev->id);
	if (!s)
		return -ENOMEM;
	set_in_ring(t, s, ev->pos != EBT_NO_POS);
	if (ev->tid)
		s->track.tid = ev->tid;
	return ev->kind == EBT_BEGIN || ev->kind == EBT_SPAN_BEGIN ? begin(t, s, ev)
								   : end(t, s, ev);
}

int tracks_end(struct tracks *t, uint64_t end_ns)
{
	int err = 0;
	for (struct stack *s = t->first; s && !err; s = s->next)
		err = cut(t, s, end_ns, TRACK_UNFINISHED);
	return err;
}
