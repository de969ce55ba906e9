/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_sleep.h"

#include <errno.h>
#include <stdlib.h>

#include "sink/stat_lane.h"
#include "sink/stat_lines.h"

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

/* The set of the live ones, or of those that have stopped; NULL: there are none. */
static struct stat_set *find_set(struct stat_class *c, bool live)
{
	for (int i = 0; i < 2; i++)
		if (c->sets[i].count && c->sets[i].all.live == live)
			return &c->sets[i];
	return NULL;
}

/* The same, made if there are none: of two sets, one is free then. */
static struct stat_set *make_set(struct stat_class *c, bool live)
{
	struct stat_set *set = find_set(c, live);
	if (set)
		return set;
	set = &c->sets[c->sets[0].count != 0];
	set->all.process = c->process;
	set->all.live = live;
	set->all.stopped = !live;
	set->all.until_ns = 0;
	return set;
}

/* The lane has gone through all that its set has. */
static void join(struct stat_class *c, struct stat_set *set, struct stat_lane *l)
{
	const struct stat_lane *all = &set->all;
	take(l);
	put(l->open_spans || l->stopping ? &set->open : &set->idle, l);
	l->set = set;
	l->turns = set->turns;
	/* Its time may have begun before that of the one that stands for it. */
	l->set_elapsed_ns = all->elapsed_ns + (l->live ? l->since_ns - all->since_ns : 0);
	l->set_uncovered_ns = all->uncovered_ns;
	set->count++;
	stat_lines_keep(c->model, l);
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
	l->live = all->live;
	l->stopped = all->stopped;
	l->unsure = all->unsure;
	l->unsure_cut = false;
	l->unsure_cause = all->unsure_cause;
	l->unsure_ns = all->unsure_ns;
	l->unsure_gc_ns = l->gc_ns;
	l->unsure_inner_ns = 0;
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
	const struct stat_everyone *e = c->everyone;
	struct stat_set *live = c->sleeps ? find_set(c, true) : NULL;
	if (!c->sleeps)
		return;
	c->sleeps = false;
	c->next_awake = c->everyone->awake;
	c->everyone->awake = c;
	if (!live || c->turns == e->turns)
		return;
	live->turns++;
	live->all.uncovered_ns += e->all.uncovered_ns - c->uncovered_ns;
	live->all.lost_until_ns = e->all.lost_until_ns;
	live->all.last_ns = e->all.last_ns;
	live->all.unsure_cause = e->all.unsure_cause;
	live->all.unsure_ns = e->all.unsure_ns;
}

static struct stat_class *make_class(struct stat_model *m, struct stat_process *p, bool is_thread,
				     bool in_ring)
{
	struct stat_class **c = &p->classes[is_thread][in_ring];
	if (*c || !(*c = calloc(1, sizeof(**c))))
		return *c;
	(*c)->model = m;
	(*c)->process = p;
	(*c)->everyone = &m->everyone[in_ring];
	(*c)->sleeps = true;
	(*c)->turns = m->everyone[in_ring].turns;
	return *c;
}

void stat_sleep_wake(struct stat_lane *l)
{
	if (!l->class || (l->list && !l->set))
		return;
	wake_class(l->class);
	if (l->set)
		leave(l);
	stat_lines_change(l->class->model, l);
	put(&l->class->busy, l);
}

int stat_sleep_use(struct stat_model *m, struct stat_lane *l, bool in_ring)
{
	stat_sleep_wake(l);
	stat_lines_change(m, l);
	if (l->list && l->in_ring == in_ring)
		return 0;
	struct stat_class *c = make_class(m, l->process, l->is_thread, in_ring);
	if (!c)
		return -ENOMEM;
	wake_class(c);
	take(l);
	l->in_ring = in_ring;
	l->class = c;
	put(&c->busy, l);
	return 0;
}

/* ---- what concerns all of a class ---- */

static int hole_of(struct stat_model *m, struct stat_lane *l, uint64_t since_ns, uint64_t now_ns)
{
	if (now_ns > l->last_ns)
		l->last_ns = now_ns;
	return stat_lane_hole(m, l, since_ns, now_ns);
}

/* For one that stands for others: it was there before the hole. */
static int hole_all(struct stat_model *m, struct stat_lane *all, bool first, uint64_t since_ns,
		    uint64_t now_ns)
{
	if (first) {
		all->live = false;
		stat_lane_open(all, now_ns, false);
	}
	return hole_of(m, all, since_ns, now_ns);
}

/* What has ended, and did not only stop, is not concerned until it is used again. */
static void put_aside(struct stat_class *c, struct stat_lane *l)
{
	if (l->stopped)
		join(c, make_set(c, false), l);
	else
		take(l);
}

static int hole_of_class(struct stat_model *m, struct stat_class *c, uint64_t since_ns,
			 uint64_t now_ns)
{
	struct stat_set *live = find_set(c, true);
	bool first = !live;
	int err = 0;
	if (live) {
		live->turns++;
		err = hole_all(m, &live->all, false, since_ns, now_ns);
	}
	for (struct stat_lane *l; !err && (l = c->busy.first);) {
		if (!l->live) {
			put_aside(c, l);
			continue;
		}
		if (first) {
			live = make_set(c, true);
			live->turns++;
			err = hole_all(m, &live->all, true, since_ns, now_ns);
			first = false;
		}
		if (!err)
			err = hole_of(m, l, since_ns, now_ns);
		join(c, live, l);
	}
	return err;
}

int stat_sleep_hole(struct stat_model *m, struct stat_process *p, bool anywhere, uint64_t since_ns,
		    uint64_t now_ns)
{
	int err = 0;
	for (int i = 0; i < 4 && !err; i++) {
		struct stat_class *c = p->classes[i / 2][i % 2];
		if (!c || (i % 2 && !anywhere))
			continue;
		wake_class(c);
		err = hole_of_class(m, c, since_ns, now_ns);
	}
	return err;
}

int stat_sleep_hole_all(struct stat_model *m, bool anywhere, uint64_t since_ns, uint64_t now_ns)
{
	int err = 0;
	for (int in_ring = 0; in_ring <= anywhere && !err; in_ring++) {
		struct stat_everyone *e = &m->everyone[in_ring];
		err = hole_all(m, &e->all, !e->turns++, since_ns, now_ns);
		for (struct stat_class *c; !err && (c = e->awake);) {
			err = hole_of_class(m, c, since_ns, now_ns);
			e->awake = c->next_awake;
			c->sleeps = true;
			c->turns = e->turns;
			c->uncovered_ns = e->all.uncovered_ns;
		}
	}
	return err;
}

/* Those of two sets that have stopped are one: the fewer of them move. */
static void merge_stopped(struct stat_class *c)
{
	bool first_is_less = c->sets[0].count < c->sets[1].count;
	struct stat_set *from = &c->sets[!first_is_less], *to = &c->sets[first_is_less];
	if (!from->count || from->all.live || to->all.live)
		return;
	for (struct stat_lane *l; (l = from->idle.first);) {
		leave(l);
		join(c, to, l);
	}
}

static int close_class(struct stat_model *m, struct stat_class *c, uint64_t now_ns)
{
	struct stat_set *live = find_set(c, true);
	int err = 0;
	for (struct stat_lane *l; live && (l = live->open.first);)
		stat_sleep_wake(l);
	for (struct stat_lane *l; !err && (l = c->busy.first);) {
		stat_lines_change(m, l);
		err = stat_lane_close(m, l, now_ns ? now_ns : l->last_ns, true);
		put_aside(c, l);
	}
	live = find_set(c, true);
	if (err || !live)
		return err;
	live->closed = ++live->turns;
	err = stat_lane_close(m, &live->all, now_ns ? now_ns : live->all.last_ns, true);
	stat_lines_close(m, live->count, live->all.until_ns);
	merge_stopped(c);
	return err;
}

int stat_sleep_close(struct stat_model *m, struct stat_process *p, uint64_t now_ns, bool threads)
{
	int err = 0;
	for (int i = 0; i < (threads ? 4 : 2) && !err; i++) {
		struct stat_class *c = p->classes[i / 2][i % 2];
		if (!c)
			continue;
		wake_class(c);
		err = close_class(m, c, now_ns);
	}
	return err;
}

static void resume_class(struct stat_class *c, uint64_t now_ns)
{
	for (struct stat_lane *l = c->busy.first, *next; l; l = next) {
		next = l->list_next;
		if (!l->live)
			put_aside(c, l);
	}
	struct stat_set *stopped = find_set(c, false), *live = find_set(c, true);
	if (!stopped)
		return;
	for (struct stat_lane *l; live && (l = live->open.first);)
		stat_sleep_wake(l);
	for (struct stat_lane *l; live && (l = live->idle.first);)
		stat_sleep_wake(l);
	stopped->opened = ++stopped->turns;
	stat_lane_open(&stopped->all, now_ns, false);
	stat_lines_open(c->model, stopped->count, stopped->all.since_ns);
}

void stat_sleep_resume(struct stat_process *p, uint64_t now_ns)
{
	for (int i = 0; i < 4; i++) {
		struct stat_class *c = p->classes[i / 2][i % 2];
		if (!c)
			continue;
		wake_class(c);
		resume_class(c, now_ns);
	}
}

void stat_sleep_done(struct stat_process *p)
{
	for (int i = 0; i < 4; i++)
		free(p->classes[i / 2][i % 2]);
}
