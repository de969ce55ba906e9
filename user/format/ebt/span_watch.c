/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/span_watch.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ptrarray.h"
#include "report/parts/pause_clock.h"
#include "session/names.h"
#include "session/phases.h"
#include "stream/tracks.h"

/* An open span. */
struct entry {
	struct entry *prev, *next; /* in order of time */
	struct ebt_event begin;
	uint32_t tid;	/* that holds its lane's time at its begin */
	bool is_pause;	/* one begins with it */
	bool may_hit;	/* some rule is about it */
	bool was_found; /* while it was open */
};

/* A lane that has had a phase. */
struct watched_lane {
	struct pause_clock clock;
	uint64_t last_ns; /* of its last event */
};

struct span_watch {
	const struct session *session;
	const struct span_rule *rule;
	unsigned rules;
	struct tracks *tracks;
	PTRARRAY(struct watched_lane) lanes; /* of the registry */
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

/* How long a span has lasted; as a pause, it may have been shorter. */
struct lengths {
	uint64_t ns, pause_ns;
};

static uint64_t length_for(const struct span_rule *r, const struct lengths *n)
{
	return is_pause_rule(r) ? n->pause_ns : n->ns;
}

/* The first rule about a span of such lengths. *ret_name: what the rule calls it. */
static const struct span_rule *rule_of(const struct span_watch *w, const struct entry *e,
				       const struct lengths *n, const char **ret_name)
{
	for (unsigned i = 0; i < w->rules; i++) {
		const struct span_rule *r = &w->rule[i];
		if (length_for(r, n) <= r->over_ns)
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
	struct watched_lane *l = stops(ev) ? ptrarray_get(&w->lanes, t->lane) : NULL;
	e->tid = l ? l->clock.now.tid : 0;
	e->is_pause = l && pause_clock_begin(&l->clock, s->begin_ns);
	const char *name;
	static const struct lengths any = {UINT64_MAX, UINT64_MAX};
	e->may_hit = rule_of(w, e, &any, &name);
	e->prev = w->last;
	*(w->last ? &w->last->next : &w->first) = e;
	w->last = e;
	w->count++;
	s->user = (uint64_t)(uintptr_t)e;
	return 0;
}

static void check(struct span_watch *w, const struct entry *e, const struct track *t,
		  uint64_t end_ns, const struct lengths *n)
{
	const char *name;
	const struct span_rule *r = rule_of(w, e, n, &name);
	if (!r)
		return;
	w->has_hit = true;
	*w->hit = (struct span_hit){
		.rule = r,
		.process = t->process,
		.domain = t->domain,
		.begin_ns = end_ns - n->ns,
		.end_ns = end_ns,
		.ns = length_for(r, n),
		.was_found = e->was_found,
	};
	snprintf(w->hit->span, sizeof(w->hit->span), "%s", name);
}

/* The length of the pause that ends with the span; 0: none does. */
static uint64_t leave_pause(struct span_watch *w, const struct entry *e, const struct track *t,
			    uint64_t end_ns)
{
	struct watched_lane *l = stops(&e->begin) ? ptrarray_get(&w->lanes, t->lane) : NULL;
	const struct pause_thread *p = l ? pause_clock_end(&l->clock, e->tid, end_ns) : NULL;
	return p ? p->spent_ns : 0;
}

static int end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
	       uint64_t end_ns, enum track_end how)
{
	struct span_watch *w = ctx;
	struct entry *e = (struct entry *)(uintptr_t)s->user;
	(void)depth;
	struct lengths n = {end_ns - s->begin_ns, leave_pause(w, e, t, end_ns)};
	if (how == TRACK_ENDED && e->may_hit && w->hit && n.ns > w->least_ns)
		check(w, e, t, end_ns, &n);
	*(e->prev ? &e->prev->next : &w->first) = e->next;
	*(e->next ? &e->next->prev : &w->last) = e->prev;
	w->count--;
	free(e);
	return 0;
}

/* A track of a lane is forgotten with all others of it. */
static void forget(void *ctx, struct track *t)
{
	struct span_watch *w = ctx;
	struct watched_lane *l = ptrarray_remove(&w->lanes, t->lane);
	if (l)
		pause_clock_done(&l->clock);
	free(l);
}

static const struct tracks_visitor visitor = {.begin = begin, .end = end, .forget = forget};

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
	ptrarray_done(&w->lanes);
	free(w);
}

/* The lane's time is that of the event's thread. 0 or -ENOMEM. */
static int step_lane(struct span_watch *w, const struct ebt_event *ev)
{
	bool is_new;
	uint32_t lane = processes_lane_of(&w->session->processes, ev);
	struct watched_lane *l =
		stops(ev) ? ptrarray_make(&w->lanes, lane, &is_new) : ptrarray_get(&w->lanes, lane);
	if (!l || !lane)
		return stops(ev) ? -ENOMEM : 0;
	int waits = 0;
	if (ev->tid && ev->tid != l->clock.now.tid)
		waits = pause_clock_switch(&l->clock, ev->tid, l->last_ns, ev->ts);
	l->last_ns = ev->ts;
	return waits < 0 ? waits : 0;
}

int span_watch_push(struct span_watch *w, const struct ebt_event *ev, struct span_hit *ret)
{
	w->hit = ret;
	w->has_hit = false;
	int err = kinds_is_of_lane(ev->kind) ? step_lane(w, ev) : 0;
	if (!err)
		err = tracks_push(w->tracks, ev);
	w->hit = NULL;
	return err ? err : w->has_hit;
}

/* The rule that has found an open span at this moment, with the smallest limit; NULL: none. */
static const struct span_rule *overdue_rule(const struct span_watch *w, const struct entry *e,
					    uint64_t now_ns, uint64_t beyond_ns)
{
	const struct span_rule *first = NULL;
	for (unsigned i = 0; i < w->rules; i++) {
		const struct span_rule *r = &w->rule[i];
		uint64_t limit_ns = r->over_ns + beyond_ns;
		bool is_over = limit_ns >= beyond_ns && now_ns - e->begin.ts > limit_ns;
		if (is_over && !is_pause_rule(r) && !fnmatch(r->span, name_of(w, e), 0) &&
		    (!first || r->over_ns < first->over_ns))
			first = r;
	}
	return first;
}

int span_watch_overdue(struct span_watch *w, uint64_t now_ns, uint64_t beyond_ns,
		       struct span_hit *ret)
{
	for (struct entry *e = w->first; e && e->begin.ts < now_ns; e = e->next) {
		if (now_ns - e->begin.ts <= w->least_ns)
			break;
		const struct span_rule *r =
			!e->may_hit || e->was_found ? NULL : overdue_rule(w, e, now_ns, beyond_ns);
		if (!r)
			continue;
		e->was_found = true;
		uint64_t ns = r->over_ns + beyond_ns;
		*ret = (struct span_hit){
			.rule = r,
			.process = e->begin.process,
			.domain = e->begin.domain,
			.begin_ns = e->begin.ts,
			.end_ns = e->begin.ts + ns,
			.ns = ns,
			.is_open = true,
		};
		snprintf(ret->span, sizeof(ret->span), "%s", name_of(w, e));
		return 1;
	}
	return 0;
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
