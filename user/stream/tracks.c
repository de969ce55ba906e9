/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tracks.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/ptrarray.h"
#include "base/ptrmap.h"
#include "session/marker_values.h"

/*
 * No operation may cost more than the tracks that it concerns: a trace can have any number of
 * tracks, and any number of losses. So open tracks are listed by what a loss can name: their lane,
 * or their process and whether a ring holds them.
 */
struct link {
	struct link *prev, *next;
};

struct list {
	struct link *first, *last;
};

/* The tracks of one process. */
struct process_tracks {
	struct group *groups;
	struct list open[2];   /* stacks that are open: without a ring, in one */
	struct link listed[2]; /* in tracks.open, while there are any */
};

/* The tracks of one lane. */
struct group {
	struct process_tracks *process;
	struct group *sibling; /* of the same process */
	uint32_t lane;
	struct list open;
	struct stack *stacks;	      /* all of them */
	struct stack *phases;	      /* but for those of single threads */
	PTRMAP(struct stack) spans;   /* by the id of the user spans */
	PTRMAP(struct stack) threads; /* by tid: phases of one thread of a domain */
};

struct stack {
	struct track track;
	struct group *group;
	struct stack *sibling;		  /* of the same group */
	struct stack *prev, *next;	  /* in order of appearance */
	struct link in_group, in_process; /* while it is open */
};

struct tracks {
	const struct tracks_visitor *visitor;
	void *ctx;
	const struct processes *processes;
	PTRARRAY(struct process_tracks) by_process; /* by process */
	PTRARRAY(struct group) groups;		    /* by lane */
	struct list open[2];			    /* processes that have open stacks */
	struct stack *first, *last;
	uint32_t count;
	bool by_thread;
};

#define OF_LINK(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

static void put_link(struct list *list, struct link *l)
{
	*l = (struct link){.prev = list->last};
	*(list->last ? &list->last->next : &list->first) = l;
	list->last = l;
}

static void remove_link(struct list *list, struct link *l)
{
	*(l->prev ? &l->prev->next : &list->first) = l->next;
	*(l->next ? &l->next->prev : &list->last) = l->prev;
}

int tracks_new(const struct processes *ps, const struct tracks_visitor *v, void *ctx,
	       struct tracks **ret)
{
	struct tracks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->processes = ps;
	t->visitor = v;
	t->ctx = ctx;
	*ret = t;
	return 0;
}

static void free_stack(struct tracks *t, struct stack *s)
{
	if (t->visitor->forget)
		t->visitor->forget(t->ctx, &s->track);
	free(s->track.open);
	free(s);
}

static void free_group(struct group *g)
{
	ptrmap_done(&g->spans);
	ptrmap_done(&g->threads);
	free(g);
}

void tracks_free(struct tracks *t)
{
	if (!t)
		return;
	for (struct stack *s = t->first, *next; s; s = next) {
		next = s->next;
		free_stack(t, s);
	}
	size_t at = 0;
	for (struct group *g; (g = ptrarray_next(&t->groups, &at));)
		free_group(g);
	ptrarray_done(&t->groups);
	ptrarray_free(&t->by_process);
	free(t);
}

void tracks_by_thread(struct tracks *t)
{
	t->by_thread = true;
}

/* True if the event belongs to the track of its thread. Events with a position do not: the two
 * records of an event, of a ring and of BPF, must have one track. */
static bool is_of_thread(const struct tracks *t, const struct ebt_event *ev)
{
	return t->by_thread && ev->tid && ev->domain != EBT_NO_DOMAIN && ev->pos == EBT_NO_POS;
}

static struct group *add_group(struct tracks *t, const struct ebt_event *ev, uint32_t lane)
{
	bool is_new;
	struct process_tracks *process = ptrarray_make(&t->by_process, ev->process, &is_new);
	struct group *g = process && lane ? ptrarray_make(&t->groups, lane, &is_new) : NULL;
	if (!g)
		return NULL;
	g->process = process;
	g->lane = lane;
	g->sibling = process->groups;
	process->groups = g;
	return g;
}

/* A span by an argument of markers is one of its process. */
static uint32_t lane_of(const struct tracks *t, const struct ebt_event *ev)
{
	bool is_span = ev->kind == EBT_SPAN_BEGIN || ev->kind == EBT_SPAN_END;
	return is_span && marker_id_slot(ev->id)
		       ? processes_lane(t->processes, ev->process, EBT_NO_DOMAIN)
		       : processes_lane_of(t->processes, ev);
}

static inline struct group *find_group(struct tracks *t, const struct ebt_event *ev)
{
	uint32_t lane = lane_of(t, ev);
	struct group *g = ptrarray_get(&t->groups, lane);
	return g ? g : add_group(t, ev, lane);
}

static struct stack *add_stack(struct tracks *t, struct group *g, struct stack *s,
			       const struct ebt_event *ev, uint32_t span)
{
	s->track = (struct track){.number = ++t->count,
				  .lane = g->lane,
				  .process = ev->process,
				  .tid = ev->tid,
				  .domain = ev->domain,
				  .span = span};
	s->group = g;
	s->sibling = g->stacks;
	g->stacks = s;
	s->prev = t->last;
	*(t->last ? &t->last->next : &t->first) = s;
	t->last = s;
	return s;
}

static struct stack *find_span(struct tracks *t, const struct ebt_event *ev)
{
	bool is_new;
	struct group *g = find_group(t, ev);
	uint32_t id = marker_id_base(ev->id);
	struct stack *s = g ? ptrmap_make(&g->spans, id, &is_new) : NULL;
	return s && is_new ? add_stack(t, g, s, ev, id) : s;
}

static inline struct stack *find_phases(struct tracks *t, const struct ebt_event *ev)
{
	struct group *g = find_group(t, ev);
	if (!g)
		return NULL;
	if (is_of_thread(t, ev)) {
		bool is_new;
		struct stack *s = ptrmap_make(&g->threads, ev->tid, &is_new);
		return s && is_new ? add_stack(t, g, s, ev, TRACK_PHASES) : s;
	}
	if (g->phases)
		return g->phases;
	g->phases = calloc(1, sizeof(*g->phases));
	return g->phases ? add_stack(t, g, g->phases, ev, TRACK_PHASES) : NULL;
}

struct track *tracks_of(struct tracks *t, const struct ebt_event *ev)
{
	struct stack *s = find_phases(t, ev);
	return s ? &s->track : NULL;
}

/* A stack with open spans is in the lists of its group and of its process. */
static __attribute__((noinline)) void list(struct tracks *t, struct stack *s)
{
	struct process_tracks *p = s->group->process;
	bool in_ring = s->track.in_ring;
	if (!p->open[in_ring].first)
		put_link(&t->open[in_ring], &p->listed[in_ring]);
	put_link(&p->open[in_ring], &s->in_process);
	put_link(&s->group->open, &s->in_group);
}

static __attribute__((noinline)) void unlist(struct tracks *t, struct stack *s)
{
	struct process_tracks *p = s->group->process;
	bool in_ring = s->track.in_ring;
	remove_link(&s->group->open, &s->in_group);
	remove_link(&p->open[in_ring], &s->in_process);
	if (!p->open[in_ring].first)
		remove_link(&t->open[in_ring], &p->listed[in_ring]);
}

static void set_in_ring(struct tracks *t, struct stack *s, bool in_ring)
{
	if (s->track.in_ring == in_ring)
		return;
	if (s->track.depth)
		unlist(t, s);
	s->track.in_ring = in_ring;
	if (s->track.depth)
		list(t, s);
}

static uint64_t moment(struct track *k, uint64_t ns)
{
	if (ns > k->last_ns)
		k->last_ns = ns;
	return k->last_ns;
}

/* Room for one more open span, and for TRACK_DEPTH at most: tracks_push_inline() compares the depth
 * with the room alone. 0 or -ENOMEM. */
static __attribute__((noinline)) int grow(struct track *k)
{
	if (!array_reserve(k->open, k->cap, k->depth))
		return -ENOMEM;
	k->cap = k->cap < TRACK_DEPTH ? k->cap : TRACK_DEPTH;
	return 0;
}

static inline int pop(struct tracks *t, struct stack *s, uint64_t now, enum track_end how)
{
	struct track *k = &s->track;
	struct track_span *span = &k->open[--k->depth];
	if (!k->depth)
		unlist(t, s);
	else
		k->open[k->depth - 1].inner_ns += now - span->begin_ns;
	return t->visitor->end(t->ctx, k, span, k->depth, now, how);
}

/* The id of a span in its track, and its level. */
static inline struct track_span identify(const struct track *k, const struct ebt_event *ev)
{
	if (k->span == TRACK_PHASES)
		return (struct track_span){.id = ev->id};
	return (struct track_span){.id = marker_id_base(ev->id), .level = marker_id_level(ev->id)};
}

/* Ends the spans of this level and of higher ones, which will not end any more. */
static __attribute__((noinline)) int leave(struct tracks *t, struct stack *s, uint32_t level,
					   uint64_t now)
{
	struct track *k = &s->track;
	int err = 0;
	while (!err && k->depth && k->open[k->depth - 1].level >= level)
		err = pop(t, s, now, TRACK_NOT_ENDED);
	return err;
}

static int begin(struct tracks *t, struct stack *s, const struct ebt_event *ev)
{
	struct track *k = &s->track;
	struct track_span is = identify(k, ev);
	uint64_t now = moment(k, ev->ts);
	int err = is.level ? leave(t, s, is.level, now) : 0;
	if (err)
		return err;
	if (k->depth == k->cap && k->depth < TRACK_DEPTH && grow(k))
		return -ENOMEM;
	if (k->depth >= TRACK_DEPTH)
		return 0;
	struct track_span *span = &k->open[k->depth];
	is.begin_ns = now;
	*span = is;
	if (!k->depth)
		list(t, s);
	return t->visitor->begin(t->ctx, k, span, k->depth++, ev);
}

static inline bool is_end_of(const struct track_span *open, const struct track_span *is)
{
	return open->id == is->id && (!is->level || !open->level || open->level == is->level);
}

/* An end of a span that is not the innermost one, or of none. */
static __attribute__((noinline)) int end_outer(struct tracks *t, struct stack *s,
					       const struct ebt_event *ev,
					       const struct track_span *is, uint64_t now)
{
	unsigned at = s->track.depth;
	while (at && !is_end_of(&s->track.open[at - 1], is))
		at--;
	int err = 0;
	if (!at && t->visitor->orphan)
		t->visitor->orphan(t->ctx, &s->track, ev);
	while (at && !err && s->track.depth > at)
		err = pop(t, s, now, is->level ? TRACK_NOT_ENDED : TRACK_OUTER);
	return at && !err ? pop(t, s, now, TRACK_ENDED) : err;
}

static int end(struct tracks *t, struct stack *s, const struct ebt_event *ev)
{
	struct track_span is = identify(&s->track, ev);
	uint64_t now = moment(&s->track, ev->ts);
	if (s->track.depth && is_end_of(&s->track.open[s->track.depth - 1], &is))
		return pop(t, s, now, TRACK_ENDED);
	return end_outer(t, s, ev, &is, now);
}

static int cut(struct tracks *t, struct stack *s, uint64_t ns, enum track_end how)
{
	uint64_t now = moment(&s->track, ns);
	int err = 0;
	while (s->track.depth && !err)
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

static int cut_process(struct tracks *t, struct process_tracks *p, bool in_ring, uint64_t ns)
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
		err = cut_process(
			t, OF_LINK(t->open[in_ring].first, struct process_tracks, listed[in_ring]),
			in_ring, ns);
	return err;
}

static int each_open(const struct track *k, uint64_t ns, tracks_open_fn *fn, void *ctx)
{
	uint64_t end_ns = ns > k->last_ns ? ns : k->last_ns, inner_ns = 0;
	int err = 0;
	for (unsigned depth = k->depth; depth-- > 0 && !err;) {
		struct track_span span = k->open[depth];
		span.inner_ns += inner_ns;
		inner_ns = end_ns - span.begin_ns;
		err = fn(ctx, k, &span, depth, end_ns);
	}
	return err;
}

int tracks_each_open(const struct tracks *t, uint32_t lane, uint64_t end_ns, tracks_open_fn *fn,
		     void *ctx)
{
	const struct group *g = ptrarray_get(&t->groups, lane);
	int err = 0;
	for (const struct link *l = g ? g->open.last : NULL; l && !err; l = l->prev)
		err = each_open(&OF_LINK(l, struct stack, in_group)->track, end_ns, fn, ctx);
	return err;
}

/* Ends the spans that a loss concerns, by the rule in the header. */
static int lose(struct tracks *t, const struct ebt_event *ev)
{
	uint64_t since = EBT_LOST_SINCE(ev);
	int err = 0;
	if (ev->domain != EBT_NO_DOMAIN) {
		struct group *g = ptrarray_get(&t->groups, processes_lane_of(t->processes, ev));
		return g ? cut_group(t, g, since, TRACK_LOST) : 0;
	}
	struct process_tracks *process = ptrarray_get(&t->by_process, ev->process);
	for (int in_ring = 0; !err && in_ring <= EBT_LOST_ANYWHERE(ev); in_ring++) {
		if (!ev->process)
			err = cut_all(t, in_ring, since);
		else if (process)
			err = cut_process(t, process, in_ring, since);
	}
	return err;
}

static void forget_stack(struct tracks *t, struct stack *s)
{
	*(s->prev ? &s->prev->next : &t->first) = s->next;
	*(s->next ? &s->next->prev : &t->last) = s->prev;
	free_stack(t, s);
}

int tracks_forget(struct tracks *t, uint32_t process, uint64_t end_ns)
{
	struct process_tracks *p = ptrarray_get(&t->by_process, process);
	for (struct group *g; p && (g = p->groups);) {
		for (struct stack *s = g->stacks; s; s = s->sibling) {
			int err = cut(t, s, end_ns, TRACK_PROCESS);
			if (err)
				return err;
		}
		for (struct stack *s; (s = g->stacks);) {
			g->stacks = s->sibling;
			forget_stack(t, s);
		}
		p->groups = g->sibling;
		ptrarray_remove(&t->groups, g->lane);
		free_group(g);
	}
	free(ptrarray_remove(&t->by_process, process));
	return 0;
}

int tracks_end_outermost(struct tracks *t, struct track *track, uint64_t end_ns, enum track_end how)
{
	struct stack *s = OF_LINK(track, struct stack, track);
	if (track->depth == 1)
		return pop(t, s, moment(track, end_ns), how);
	struct track_span span = track->open[0];
	track->depth--;
	memmove(track->open, track->open + 1, track->depth * sizeof(*track->open));
	return t->visitor->end(t->ctx, track, &span, 0, moment(track, end_ns), how);
}

int tracks_push_to(struct tracks *t, struct track *track, const struct ebt_event *ev)
{
	struct stack *s = OF_LINK(track, struct stack, track);
	set_in_ring(t, s, ev->pos != EBT_NO_POS);
	if (ev->tid)
		track->tid = ev->tid;
	return ev->kind == EBT_BEGIN || ev->kind == EBT_SPAN_BEGIN ? begin(t, s, ev)
								   : end(t, s, ev);
}

int tracks_push(struct tracks *t, const struct ebt_event *ev)
{
	struct stack *s;
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		s = find_phases(t, ev);
		break;
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		s = find_span(t, ev);
		break;
	case EBT_LOST:
		return lose(t, ev);
	case EBT_PROCESS:
		return ev->id != EBT_PROCESS_FORK ? tracks_forget(t, ev->process, ev->ts) : 0;
	default:
		return 0;
	}
	if (!s)
		return -ENOMEM;
	return tracks_push_to(t, &s->track, ev);
}

int tracks_end(struct tracks *t, uint64_t end_ns)
{
	int err = 0;
	for (struct stack *s = t->first; s && !err; s = s->next)
		err = cut(t, s, end_ns, TRACK_UNFINISHED);
	return err;
}
