/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/spans.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/map.h"

struct waiting {
	struct ebt_event ev;
	uint64_t outer; /* the undecided begin before it in its domain: count + 1, 0: none */
	bool undecided; /* a begin that may yet turn out to be short */
	bool dropped;
};

struct spans {
	struct outlet out;
	uint64_t min_ns;
	/* events first..next-1, running counts; in queue[count % SPANS_WAITING] */
	struct waiting *queue;
	uint64_t first, next;
	/* Of the domains, and of the threads that have none: the undecided begin, count + 1. */
	struct map innermost, thread_innermost;
	uint64_t cut; /* what begins before this count may have ended in a hole */
	struct ebt_event batch[BATCH_EVENTS]; /* to be handed on */
	size_t count;
};

int spans_new(struct outlet out, uint64_t min_ns, struct spans **ret)
{
	struct spans *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->queue = calloc(SPANS_WAITING, sizeof(*s->queue));
	if (!s->queue) {
		free(s);
		return -ENOMEM;
	}
	s->out = out;
	s->min_ns = min_ns;
	*ret = s;
	return 0;
}

void spans_free(struct spans *s)
{
	if (!s)
		return;
	map_done(&s->innermost);
	map_done(&s->thread_innermost);
	free(s->queue);
	free(s);
}

static struct waiting *at(struct spans *s, uint64_t count)
{
	return &s->queue[count % SPANS_WAITING];
}

/* Phases and user spans nest apart from each other. */
static uint64_t chain_of(const struct ebt_event *ev, bool user)
{
	return (uint64_t)ev->process << 17 | (uint64_t)ev->domain << 1 | user;
}

/* Where the innermost begin of the event's domain, or thread, is noted. NULL: no memory. */
static uint64_t *chain(struct spans *s, const struct ebt_event *ev, bool user)
{
	if (ev->domain != EBT_NO_DOMAIN)
		return map_put(&s->innermost, chain_of(ev, user));
	return map_put(&s->thread_innermost,
		       (uint64_t)ev->process << 33 | (uint64_t)ev->tid << 1 | user);
}

/* Hands on what has been decided. */
static int hand_on(struct spans *s)
{
	size_t n = s->count;
	s->count = 0;
	return n ? outlet_events(&s->out, s->batch, n) : 0;
}

/* Passes on what waits, up to the first begin that is younger than the limit. */
static int pass(struct spans *s, uint64_t now_ns)
{
	while (s->first != s->next) {
		struct waiting *w = at(s, s->first);
		if (w->undecided && s->first >= s->cut && now_ns < w->ev.ts + s->min_ns)
			return 0;
		s->first++;
		if (w->dropped)
			continue;
		s->batch[s->count++] = w->ev;
		int err = s->count == BATCH_EVENTS ? hand_on(s) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* True if the end closes a begin that waits: both are dropped then. */
static bool close_short(struct spans *s, const struct ebt_event *ev, uint64_t *innermost)
{
	uint64_t *link = innermost;
	while (*link > s->first) {
		struct waiting *w = at(s, *link - 1);
		if (w->ev.id != ev->id) {
			link = &w->outer;
			continue;
		}
		bool is_short = ev->ts - w->ev.ts < s->min_ns;
		*link = w->outer;
		w->undecided = false;
		w->dropped = is_short;
		return is_short;
	}
	*link = 0; /* what is further out has been passed on */
	return false;
}

static void forget_chain(struct spans *s, uint64_t *link)
{
	for (uint64_t i = *link; i > s->first; i = at(s, i - 1)->outer)
		at(s, i - 1)->undecided = false;
	*link = 0;
}

/*
 * What is open where events are missing may have ended there. Without a domain it may be anybody's:
 * too many spans pass then, rather than one too few.
 */
static void forget_open(struct spans *s, const struct ebt_event *ev)
{
	if (ev->domain == EBT_NO_DOMAIN) {
		s->cut = s->next;
		return;
	}
	for (int user = 0; user < 2; user++) {
		uint64_t *link = map_get(&s->innermost, chain_of(ev, user));
		if (link)
			forget_chain(s, link);
	}
}

static void add(struct spans *s, const struct ebt_event *ev, uint64_t *innermost)
{
	struct waiting *w = at(s, s->next++);
	*w = (struct waiting){.ev = *ev};
	if (innermost) {
		w->undecided = true;
		w->outer = *innermost;
		*innermost = s->next;
	}
}

static int push(struct spans *s, const struct ebt_event *ev)
{
	int err = pass(s, ev->ts);
	if (err)
		return err;
	bool user = ev->kind == EBT_SPAN_BEGIN || ev->kind == EBT_SPAN_END;
	bool begins = ev->kind == EBT_BEGIN || ev->kind == EBT_SPAN_BEGIN;
	bool ends = ev->kind == EBT_END || ev->kind == EBT_SPAN_END;
	uint64_t *innermost = NULL;
	if (begins || ends) {
		innermost = chain(s, ev, user);
		if (!innermost)
			return -ENOMEM;
	}
	if (ends && close_short(s, ev, innermost))
		return pass(s, ev->ts);
	if (ev->kind == EBT_LOST || (ev->kind == EBT_PROCESS && ev->id != EBT_PROCESS_FORK))
		forget_open(s, ev);
	if (s->next - s->first == SPANS_WAITING) {
		at(s, s->first)->undecided = false;
		err = pass(s, ev->ts);
		if (err)
			return err;
	}
	add(s, ev, begins ? innermost : NULL);
	return pass(s, ev->ts);
}

int spans_events(struct spans *s, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = push(s, &ev[i]);
	return err ? err : hand_on(s);
}

int spans_advance(struct spans *s, uint64_t now_ns)
{
	int err = pass(s, now_ns);
	return err ? err : hand_on(s);
}
