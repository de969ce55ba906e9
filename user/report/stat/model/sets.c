/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/sets.h"

#include <errno.h>
#include <stdlib.h>

struct stat_list {
	struct stat_lane *first;
};

struct stat_set {
	struct stat_lane all; /* represents all of them */
	struct stat_list idle, open;
	uint32_t count;
	uint64_t turns;		 /* counts what concerned them all */
	uint64_t opened, closed; /* the last of these that began or ended their time */
};

/* Lanes of a process that the same events concern. */
struct stat_class {
	struct stat_sets *sets;
	struct stat_process *process;
	struct stat_everyone *everyone;
	struct stat_class *prev_awake, *next_awake; /* while it does not sleep */
	struct stat_list busy;
	struct stat_set set[2]; /* the LIVE ones and the STOPPED ones, in either order */
	bool sleeps;
	uint64_t turns, uncovered_ns; /* of everyone when it fell asleep */
};

/* Represents the LIVE lanes of all processes that no ring holds, or that rings hold. */
struct stat_everyone {
	struct stat_lane all;
	struct stat_class *awake;
	uint64_t turns;
};

static bool is_live(const struct stat_lane *l)
{
	return l->state == STAT_LANE_LIVE;
}

static void put(struct stat_list *list, struct stat_lane *l)
{
	l->list = list;
	l->list_prev = NULL;
	l->list_next = list->first;
	if (list->first)
		list->first->list_prev = l;
	list->first = l;
}

static void take(struct stat_lane *l)
{
	if (!l->list)
		return;
	*(l->list_prev ? &l->list_prev->list_next : &l->list->first) = l->list_next;
	if (l->list_next)
		l->list_next->list_prev = l->list_prev;
	l->list = NULL;
}

/* ---- sets of lanes that sleep ---- */

/* NULL: no lane of this state sleeps. */
static struct stat_set *find_set(struct stat_class *c, enum stat_lane_state state)
{
	for (int i = 0; i < 2; i++)
		if (c->set[i].count && c->set[i].all.state == state)
			return &c->set[i];
	return NULL;
}

/* find_set(), or a new set if there is none: one of the two is free then. */
static struct stat_set *make_set(struct stat_class *c, enum stat_lane_state state)
{
	struct stat_set *set = find_set(c, state);
	if (set)
		return set;
	set = &c->set[c->set[0].count != 0];
	set->all.process = c->process;
	set->all.state = state;
	set->all.until_ns = 0;
	return set;
}

/* The lane has gone through all that its set has. */
static void join(struct stat_class *c, struct stat_set *set, struct stat_lane *l)
{
	const struct stat_lane *all = &set->all;
	take(l);
	put(l->open_spans || l->pauses.clock.now.stopping ? &set->open : &set->idle, l);
	l->set = set;
	l->turns = set->turns;
	/* Its time may have begun before that of the lane that represents it. */
	l->set_elapsed_ns = all->elapsed_ns + (is_live(l) ? l->since_ns - all->since_ns : 0);
	l->set_uncovered_ns = all->uncovered_ns;
	set->count++;
	stat_progress_keep(c->sets->progress, l);
}

static void catch_up(struct stat_lane *l, const struct stat_set *set)
{
	const struct stat_lane *all = &set->all;
	if (l->turns == set->turns)
		return;
	if (l->turns < set->closed) {
		l->elapsed_ns += all->elapsed_ns - l->set_elapsed_ns;
		l->until_ns = all->until_ns;
	}
	if (l->turns < set->opened)
		l->since_ns = all->since_ns;
	l->uncovered_ns += all->uncovered_ns - l->set_uncovered_ns;
	if (l->lost_until_ns < all->lost_until_ns)
		l->lost_until_ns = all->lost_until_ns;
	l->last_ns = all->last_ns;
	l->state = all->state;
	pauses_unsure(&l->pauses, all->pauses.unsure_ns, all->pauses.unsure_cause);
	l->pauses.certainty = all->pauses.certainty;
	l->unseen_inner_ns = 0;
}

static void leave(struct stat_lane *l)
{
	struct stat_set *set = l->set;
	take(l);
	l->set = NULL;
	set->count--;
	catch_up(l, set);
}

/* ---- classes, which sleep through the holes of all processes ---- */

static void wake_class(struct stat_class *c)
{
	struct stat_everyone *e = c->everyone;
	struct stat_set *live = c->sleeps ? find_set(c, STAT_LANE_LIVE) : NULL;
	if (!c->sleeps)
		return;
	c->sleeps = false;
	c->prev_awake = NULL;
	c->next_awake = e->awake;
	if (e->awake)
		e->awake->prev_awake = c;
	e->awake = c;
	if (!live || c->turns == e->turns)
		return;
	live->turns++;
	live->all.uncovered_ns += e->all.uncovered_ns - c->uncovered_ns;
	live->all.lost_until_ns = e->all.lost_until_ns;
	live->all.last_ns = e->all.last_ns;
	live->all.pauses.unsure_cause = e->all.pauses.unsure_cause;
	live->all.pauses.unsure_ns = e->all.pauses.unsure_ns;
}

/* No longer in the list of those that are awake. */
static void remove_awake(struct stat_class *c)
{
	if (c->sleeps)
		return;
	c->sleeps = true;
	*(c->prev_awake ? &c->prev_awake->next_awake : &c->everyone->awake) = c->next_awake;
	if (c->next_awake)
		c->next_awake->prev_awake = c->prev_awake;
}

static struct stat_class *make_class(struct stat_sets *sets, struct stat_process *p, bool is_thread,
				     bool in_ring)
{
	struct stat_class **c = &p->classes[is_thread][in_ring];
	if (*c || !(*c = calloc(1, sizeof(**c))))
		return *c;
	(*c)->sets = sets;
	(*c)->process = p;
	(*c)->everyone = &sets->everyone[in_ring];
	(*c)->sleeps = true;
	(*c)->turns = (*c)->everyone->turns;
	return *c;
}

void stat_sets_wake(struct stat_lane *l)
{
	if (!l->class || (l->list && !l->set))
		return;
	wake_class(l->class);
	if (l->set)
		leave(l);
	stat_progress_change(l->class->sets->progress, l);
	put(&l->class->busy, l);
}

void stat_sets_view(struct stat_lane *l, struct stat_lane *ret)
{
	if (l->set)
		wake_class(l->class);
	*ret = *l;
	if (l->set)
		catch_up(ret, l->set);
	ret->class = NULL;
	ret->list = NULL;
	ret->set = NULL;
}

int stat_sets_enter(struct stat_sets *sets, struct stat_lane *l, bool in_ring)
{
	stat_sets_wake(l);
	stat_progress_change(sets->progress, l);
	if (l->list && l->in_ring == in_ring)
		return 0;
	struct stat_class *c = make_class(sets, l->process, l->is_thread, in_ring);
	if (!c)
		return -ENOMEM;
	wake_class(c);
	take(l);
	l->in_ring = in_ring;
	l->class = c;
	put(&c->busy, l);
	return 0;
}

/* ---- events that concern all of a class ---- */

/* A hole of a lane that represents others. first: its time begins, before the hole. 0 or
 * -ENOMEM. */
static int hole_all(const struct stat_sets *sets, struct stat_lane *all, bool first,
		    uint64_t since_ns, uint64_t now_ns)
{
	if (first)
		stat_lane_open(all, now_ns, false);
	return stat_lane_hole(sets->stream, all, since_ns, now_ns);
}

/* An ENDED one is not concerned until it is used again. */
static void put_aside(struct stat_class *c, struct stat_lane *l)
{
	if (l->state == STAT_LANE_STOPPED)
		join(c, make_set(c, STAT_LANE_STOPPED), l);
	else
		take(l);
}

static int hole_of_class(const struct stat_sets *sets, struct stat_class *c, uint64_t since_ns,
			 uint64_t now_ns)
{
	struct stat_set *live = find_set(c, STAT_LANE_LIVE);
	bool first = !live;
	int err = 0;
	if (live) {
		live->turns++;
		err = hole_all(sets, &live->all, false, since_ns, now_ns);
	}
	for (struct stat_lane *l; !err && (l = c->busy.first);) {
		if (!is_live(l)) {
			put_aside(c, l);
			continue;
		}
		if (first) {
			live = make_set(c, STAT_LANE_LIVE);
			live->turns++;
			err = hole_all(sets, &live->all, true, since_ns, now_ns);
			first = false;
		}
		if (!err)
			err = stat_lane_hole(sets->stream, l, since_ns, now_ns);
		join(c, live, l);
	}
	return err;
}

int stat_sets_hole(struct stat_sets *sets, struct stat_process *p, bool anywhere, uint64_t since_ns,
		   uint64_t now_ns)
{
	int err = 0;
	for (int i = 0; i < 4 && !err; i++) {
		struct stat_class *c = p->classes[i / 2][i % 2];
		if (!c || (i % 2 && !anywhere))
			continue;
		wake_class(c);
		err = hole_of_class(sets, c, since_ns, now_ns);
	}
	return err;
}

int stat_sets_hole_all(struct stat_sets *sets, bool anywhere, uint64_t since_ns, uint64_t now_ns)
{
	int err = 0;
	for (int in_ring = 0; in_ring <= anywhere && !err; in_ring++) {
		struct stat_everyone *e = &sets->everyone[in_ring];
		err = hole_all(sets, &e->all, !e->turns++, since_ns, now_ns);
		for (struct stat_class *c; !err && (c = e->awake);) {
			err = hole_of_class(sets, c, since_ns, now_ns);
			remove_awake(c);
			c->turns = e->turns;
			c->uncovered_ns = e->all.uncovered_ns;
		}
	}
	return err;
}

/* Merges two sets of STOPPED lanes: the lanes of the smaller one move. */
static void merge_stopped(struct stat_class *c)
{
	bool first_is_less = c->set[0].count < c->set[1].count;
	struct stat_set *from = &c->set[!first_is_less], *to = &c->set[first_is_less];
	if (!from->count || is_live(&from->all) || is_live(&to->all))
		return;
	for (struct stat_lane *l; (l = from->idle.first);) {
		leave(l);
		join(c, to, l);
	}
}

static int stop_class(struct stat_sets *sets, struct stat_class *c, uint64_t now_ns)
{
	struct stat_set *live = find_set(c, STAT_LANE_LIVE);
	int err = 0;
	for (struct stat_lane *l; live && (l = live->open.first);)
		stat_sets_wake(l);
	for (struct stat_lane *l; !err && (l = c->busy.first);) {
		stat_progress_change(sets->progress, l);
		err = stat_lane_close(sets->stream, l, now_ns ? now_ns : l->last_ns,
				      STAT_LANE_STOPPED);
		put_aside(c, l);
	}
	live = find_set(c, STAT_LANE_LIVE);
	if (err || !live)
		return err;
	live->closed = ++live->turns;
	err = stat_lane_close(sets->stream, &live->all, now_ns ? now_ns : live->all.last_ns,
			      STAT_LANE_STOPPED);
	stat_progress_close(sets->progress, live->count, live->all.until_ns);
	merge_stopped(c);
	return err;
}

int stat_sets_stop(struct stat_sets *sets, struct stat_process *p, uint64_t now_ns, bool threads)
{
	int err = 0;
	for (int i = 0; i < (threads ? 4 : 2) && !err; i++) {
		struct stat_class *c = p->classes[i / 2][i % 2];
		if (!c)
			continue;
		wake_class(c);
		err = stop_class(sets, c, now_ns);
	}
	return err;
}

static void resume_class(struct stat_class *c, uint64_t now_ns)
{
	for (struct stat_lane *l = c->busy.first, *next; l; l = next) {
		next = l->list_next;
		if (!is_live(l))
			put_aside(c, l);
	}
	struct stat_set *stopped = find_set(c, STAT_LANE_STOPPED);
	struct stat_set *live = find_set(c, STAT_LANE_LIVE);
	if (!stopped)
		return;
	for (struct stat_lane *l; live && (l = live->open.first);)
		stat_sets_wake(l);
	for (struct stat_lane *l; live && (l = live->idle.first);)
		stat_sets_wake(l);
	stopped->opened = ++stopped->turns;
	stat_lane_open(&stopped->all, now_ns, false);
	stat_progress_open(c->sets->progress, stopped->count, stopped->all.since_ns);
}

void stat_sets_resume(struct stat_process *p, uint64_t now_ns)
{
	for (int i = 0; i < 4; i++) {
		struct stat_class *c = p->classes[i / 2][i % 2];
		if (!c)
			continue;
		wake_class(c);
		resume_class(c, now_ns);
	}
}

int stat_sets_init(struct stat_sets *sets, struct stat_stream *s, struct stat_progress *g)
{
	*sets = (struct stat_sets){.stream = s, .progress = g};
	sets->everyone = calloc(2, sizeof(*sets->everyone));
	return sets->everyone ? 0 : -ENOMEM;
}

void stat_sets_done(struct stat_sets *sets)
{
	free(sets->everyone);
}

void stat_sets_forget(struct stat_process *p)
{
	for (struct stat_lane *l = p->lanes; l; l = l->next) {
		l->class = NULL;
		l->list = NULL;
		l->set = NULL;
	}
	for (int i = 0; i < 4; i++) {
		struct stat_class **c = &p->classes[i / 2][i % 2];
		if (*c)
			remove_awake(*c);
		free(*c);
		*c = NULL;
	}
}
