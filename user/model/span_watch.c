/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/span_watch.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "core/tracks.h"
#include "model/phases.h"

/* An open span. */
struct entry {
	struct entry *prev, *next; /* in order of time */
	struct ebt_event begin;
	bool is_pause;
	bool may_hit; /* some rule is about it */
};

struct span_watch {
	const struct session *session;
	const struct span_rule *rule;
	unsigned rules;
	struct tracks *tracks;
	struct entry *first, *last;
	uint32_t count;
	uint64_t least_ns; /* of all limits */
	struct span_hit *hit;
	bool has_hit;
};

static const char *name_of(const struct span_watch *w, const struct entry *e)
{
	const char *name = names_event(w->session, &e->begin);
	return name ? name : "";
}

static bool is_pause_rule(const struct span_rule *r)
{
	return !strcmp(r->span, SPAN_WATCH_PAUSE);
}

/* The first rule about a span with such a duration. *ret_name: what the rule calls it. */
static const struct span_rule *rule_of(const struct span_watch *w, const struct entry *e,
				       uint64_t ns, const char **ret_name)
{
	for (unsigned i = 0; i < w->rules; i++) {
		const struct span_rule *r = &w->rule[i];
		if (ns <= r->over_ns)
			continue;
		*ret_name = is_pause_rule(r) ? SPAN_WATCH_PAUSE : name_of(w, e);
		if (is_pause_rule(r) ? e->is_pause : !fnmatch(r->span, *ret_name, 0))
			return r;
	}
	return NULL;
}

static bool stops(const struct ebt_event *ev)
{
	return ev->kind == EBT_BEGIN && phases_stop(phases_row(ev->id));
}

/* The track's own number counts its open phases that stop the mutator. */
static int begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		 const struct ebt_event *ev)
{
	struct span_watch *w = ctx;
	struct entry *e = calloc(1, sizeof(*e));
	(void)depth;
	if (!e)
		return -ENOMEM;
	e->begin = *ev;
	e->begin.stack = 0;
	e->is_pause = stops(ev) && !t->user_number++;
	const char *name;
	e->may_hit = rule_of(w, e, UINT64_MAX, &name);
	e->prev = w->last;
	*(w->last ? &w->last->next : &w->first) = e;
	w->last = e;
	w->count++;
	s->user = (uint64_t)(uintptr_t)e;
	return 0;
}

static void check(struct span_watch *w, const struct entry *e, const struct track *t,
		  uint64_t begin_ns, uint64_t end_ns)
{
	const char *name;
	uint64_t ns = end_ns - begin_ns;
	const struct span_rule *r = rule_of(w, e, ns, &name);
	if (!r)
		return;
	w->has_hit = true;
	*w->hit = (struct span_hit){
		.rule = r,
		.process = t->process,
		.domain = t->domain,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
	};
	snprintf(w->hit->span, sizeof(w->hit->span), "%s", name);
}

static int end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
	       uint64_t end_ns, enum track_end how)
{
	struct span_watch *w = ctx;
	struct entry *e = (struct entry *)(uintptr_t)s->user;
	(void)depth;
	t->user_number -= stops(&e->begin);
	if (how == TRACK_ENDED && e->may_hit && w->hit && end_ns - s->begin_ns > w->least_ns)
		check(w, e, t, s->begin_ns, end_ns);
	*(e->prev ? &e->prev->next : &w->first) = e->next;
	*(e->next ? &e->next->prev : &w->last) = e->prev;
	w->count--;
	free(e);
	return 0;
}

static const struct tracks_visitor visitor = {.begin = begin, .end = end};

int span_watch_new(const struct session *s, const struct span_rule *rule, unsigned rules,
		   struct span_watch **ret)
{
	struct span_watch *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->session = s;
	w->rule = rule;
	w->rules = rules;
	w->least_ns = UINT64_MAX;
	for (unsigned i = 0; i < rules; i++)
		w->least_ns = rule[i].over_ns < w->least_ns ? rule[i].over_ns : w->least_ns;
	if (tracks_new(&s->processes, &visitor, w, &w->tracks)) {
		free(w);
		return -ENOMEM;
	}
	tracks_by_thread(w->tracks);
	*ret = w;
	return 0;
}

void span_watch_free(struct span_watch *w)
{
	if (!w)
		return;
	tracks_free(w->tracks);
	for (struct entry *e = w->first, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	free(w);
}

int span_watch_push(struct span_watch *w, const struct ebt_event *ev, struct span_hit *ret)
{
	w->hit = ret;
	w->has_hit = false;
	int err = tracks_push(w->tracks, ev);
	w->hit = NULL;
	return err ? err : w->has_hit;
}

int span_watch_forget(struct span_watch *w, uint32_t process)
{
	return tracks_forget(w->tracks, process, 0);
}

int span_watch_open(const struct span_watch *w, struct ebt_event **ret, uint32_t *ret_count)
{
	struct ebt_event *ev = calloc(w->count + 1u, sizeof(*ev));
	uint32_t n = 0;
	if (!ev)
		return -ENOMEM;
	for (const struct entry *e = w->first; e; e = e->next)
		ev[n++] = e->begin;
	*ret = ev;
	*ret_count = n;
	return 0;
}

uint64_t span_watch_oldest_ns(const struct span_watch *w)
{
	const struct entry *e = w->first;
	while (e && !e->may_hit)
		e = e->next;
	return e ? e->begin.ts : UINT64_MAX;
}
