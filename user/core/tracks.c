/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/tracks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"

#define RECENT 64 /* tracks found without a look into the map */

struct stack {
	struct track track;
	struct stack *next;    /* of the same key in the map */
	struct stack *sibling; /* of the same process */
	uint64_t last_ns;
	bool in_ring; /* its last event has a position in a ring */
	unsigned depth, cap;
	struct track_span *open; /* `cap`: most tracks are never deep */
};

struct tracks {
	struct tracks_visitor visitor;
	struct map stacks;    /* hash of the key → struct stack *, a list */
	struct map processes; /* pid → struct stack *, a list */
	struct stack *recent[RECENT];
	uint32_t count;
};

int tracks_new(const struct tracks_visitor *v, struct tracks **ret)
{
	struct tracks *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->visitor = *v;
	*ret = t;
	return 0;
}

static void free_stack(struct stack *s)
{
	free(s->open);
	free(s);
}

void tracks_free(struct tracks *t)
{
	if (!t)
		return;
	size_t at = 0;
	for (struct map_slot *slot; (slot = map_next(&t->stacks, &at));)
		for (struct stack *s = (void *)(uintptr_t)slot->value, *next; s; s = next) {
			next = s->next;
			free_stack(s);
		}
	map_done(&t->stacks);
	map_done(&t->processes);
	free(t);
}

static bool is_of(const struct stack *s, const struct ebt_event *ev, uint32_t span)
{
	const struct track *t = &s->track;
	return t->pid == ev->pid && t->span == span && t->domain == ev->domain &&
	       (ev->domain != EBT_NO_DOMAIN || t->tid == ev->tid);
}

static uint64_t key_of(uint32_t pid, uint16_t domain, uint32_t tid, uint32_t span)
{
	uint64_t lane = domain != EBT_NO_DOMAIN ? domain : 0x10000ull + tid;
	return (uint64_t)pid << 32 ^ lane << 13 ^ span;
}

/* A new one in both lists. NULL: no memory. */
static struct stack *add(struct tracks *t, uint64_t key, const struct ebt_event *ev, uint32_t span)
{
	uint64_t *same_key = map_put(&t->stacks, key);
	uint64_t *same_pid = map_put(&t->processes, ev->pid);
	struct stack *s = same_key && same_pid ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	s->track = (struct track){.number = ++t->count,
				  .pid = ev->pid,
				  .tid = ev->tid,
				  .domain = ev->domain,
				  .span = span};
	s->next = (void *)(uintptr_t)*same_key;
	s->sibling = (void *)(uintptr_t)*same_pid;
	*same_key = *same_pid = (uintptr_t)s;
	return s;
}

static struct stack *find(struct tracks *t, const struct ebt_event *ev, uint32_t span)
{
	uint64_t key = key_of(ev->pid, ev->domain, ev->tid, span);
	struct stack **recent = &t->recent[(key ^ key >> 13) % RECENT];
	if (*recent && is_of(*recent, ev, span))
		return *recent;
	uint64_t *value = map_get(&t->stacks, key);
	struct stack *s = value ? (void *)(uintptr_t)*value : NULL;
	while (s && !is_of(s, ev, span))
		s = s->next;
	if (!s)
		s = add(t, key, ev, span);
	return s ? *recent = s : NULL;
}

struct track *tracks_of(struct tracks *t, const struct ebt_event *ev)
{
	struct stack *s = find(t, ev, TRACK_PHASES);
	return s ? &s->track : NULL;
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
	return t->visitor.begin(t->visitor.ctx, &s->track, span, s->depth++, ev);
}

static int pop(struct tracks *t, struct stack *s, uint64_t now, enum track_end how)
{
	struct track_span *span = &s->open[--s->depth];
	if (s->depth)
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

/* A loss concerns the tracks of its domain; one without a domain, all that no ring holds. */
static bool loses(const struct stack *s, const struct ebt_event *ev)
{
	if (ev->pid && s->track.pid != ev->pid)
		return false;
	if (EBT_LOST_ANYWHERE(ev))
		return true;
	return ev->domain == EBT_NO_DOMAIN ? !s->in_ring : s->track.domain == ev->domain;
}

static int lose(struct tracks *t, const struct ebt_event *ev)
{
	size_t at = 0;
	int err = 0;
	for (struct map_slot *slot; !err && (slot = map_next(&t->stacks, &at));)
		for (struct stack *s = (void *)(uintptr_t)slot->value; s && !err; s = s->next)
			if (loses(s, ev))
				err = cut(t, s, EBT_LOST_SINCE(ev), TRACK_LOST);
	return err;
}

static void unlink_stack(struct tracks *t, struct stack *s)
{
	const struct track *k = &s->track;
	uint64_t key = key_of(k->pid, k->domain, k->tid, k->span);
	uint64_t *value = map_get(&t->stacks, key);
	struct stack *first = (void *)(uintptr_t)*value, **link = &first;
	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
	*value = (uintptr_t)first;
	if (!first)
		map_delete(&t->stacks, key);
}

/* The tracks of a process that is gone are forgotten. */
static int end_process(struct tracks *t, const struct ebt_event *ev)
{
	uint64_t *first = map_get(&t->processes, ev->pid);
	for (unsigned i = 0; i < RECENT; i++)
		t->recent[i] = NULL;
	for (struct stack *s; first && (s = (void *)(uintptr_t)*first);) {
		int err = cut(t, s, ev->ts, TRACK_PROCESS);
		if (err)
			return err;
		*first = (uintptr_t)s->sibling;
		unlink_stack(t, s);
		if (t->visitor.forget)
			t->visitor.forget(t->visitor.ctx, &s->track);
		free_stack(s);
	}
	map_delete(&t->processes, ev->pid);
	return 0;
}

int tracks_push(struct tracks *t, const struct ebt_event *ev)
{
	bool phase = ev->kind == EBT_BEGIN || ev->kind == EBT_END;
	bool span = ev->kind == EBT_SPAN_BEGIN || ev->kind == EBT_SPAN_END;
	if (ev->kind == EBT_LOST)
		return lose(t, ev);
	if (ev->kind == EBT_PROCESS && ev->id != EBT_PROCESS_FORK)
		return end_process(t, ev);
	if (!phase && !span)
		return 0;
	struct stack *s = find(t, ev, phase ? TRACK_PHASES : ev->id);
	if (!s)
		return -ENOMEM;
	s->in_ring = ev->pos != EBT_NO_POS;
	if (ev->tid)
		s->track.tid = ev->tid;
	return ev->kind == EBT_BEGIN || ev->kind == EBT_SPAN_BEGIN ? begin(t, s, ev)
								   : end(t, s, ev);
}

int tracks_end(struct tracks *t, uint64_t end_ns)
{
	size_t at = 0;
	int err = 0;
	for (struct map_slot *slot; !err && (slot = map_next(&t->stacks, &at));)
		for (struct stack *s = (void *)(uintptr_t)slot->value; s && !err; s = s->next)
			err = cut(t, s, end_ns, TRACK_UNFINISHED);
	return err;
}
