/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/mutator.h"

#include <errno.h>
#include <stdlib.h>

/* ---- of a process ---- */

static int set_share(struct stat_process_mutator *u, uint64_t ns)
{
	double share = u->lanes ? (double)u->stopped / u->lanes : 0;
	return mmu_has_begun(&u->windows) ? mmu_set(&u->windows, ns, share) : 0;
}

/* No lane counts in it yet. */
static int begin_stretch(struct stat_process_mutator *u, uint64_t ns)
{
	u->from_ns = ns;
	u->stretch++;
	u->lanes = u->stopped = 0;
	return mmu_begin(&u->windows, ns);
}

/* The lane, which does not count yet, does from ns on. */
static int enter(struct stat_process_mutator *u, struct stat_lane_mutator *m, uint64_t ns)
{
	uint64_t from = stat_stream_later(m->from_ns, u->from_ns);
	bool is_first = !u->lanes;
	int err = is_first ? begin_stretch(u, from) : 0;
	m->stretch = u->stretch;
	u->lanes++;
	u->stopped += m->stopped;
	return err ? err : set_share(u, is_first ? from : ns);
}

static int leave(struct stat_process_mutator *u, struct stat_lane_mutator *m, uint64_t ns)
{
	bool counts = m->stretch == u->stretch;
	m->stretch = 0;
	if (!counts)
		return 0;
	mmu_until(&u->windows, ns);
	u->lanes--;
	u->stopped -= m->stopped;
	if (!u->lanes) {
		mmu_end(&u->windows);
		u->from_ns = stat_stream_later(u->from_ns, ns);
	}
	return set_share(u, ns);
}

/* A hole of lanes that do not count any more: the others go on behind it. */
static int break_process(struct stat_process_mutator *u, uint64_t since_ns, uint64_t ns)
{
	mmu_until(&u->windows, since_ns);
	mmu_end_at(&u->windows, since_ns);
	u->from_ns = stat_stream_later(u->from_ns, ns);
	if (!u->lanes)
		return 0;
	int err = mmu_begin(&u->windows, u->from_ns);
	return err ? err : set_share(u, u->from_ns);
}

/* ---- of a lane ---- */

static int set_stopped(struct stat_process_mutator *u, struct stat_lane_mutator *m, bool stopped,
		       uint64_t ns)
{
	m->stopped = stopped;
	int err = mmu_set(&m->windows, ns, stopped);
	if (m->stretch != u->stretch || err)
		return err;
	u->stopped += stopped ? 1 : -1;
	return set_share(u, ns);
}

/* 0 or -ENOMEM. */
static int make(struct stat_mutator_room *room, struct stat_lane *l)
{
	struct stat_process *p = l->process;
	if (!p->mutator && !(p->mutator = calloc(1, sizeof(*p->mutator))))
		return -ENOMEM;
	p->mutator->stretch += !p->mutator->stretch;
	if (!l->mutator && !(l->mutator = calloc(1, sizeof(*l->mutator))))
		return -ENOMEM;
	p->mutator->windows.room = l->mutator->windows.room = &room->edges;
	return 0;
}

/* The begin of the lane's present stretch. */
static uint64_t stretch_of(const struct stat_lane *l)
{
	return stat_stream_later(l->since_ns, l->pauses.unsure_ns);
}

/* Whether the lane has a stretch that is not the one that windows are of. */
static bool is_new(const struct stat_lane *l)
{
	const struct stat_lane_mutator *m = l->mutator;
	return !mmu_has_begun(&m->windows) || m->from_ns < stretch_of(l);
}

/* What it did in a hole is not known; its present pause is found again. */
static void break_lane(struct stat_process_mutator *u, struct stat_lane_mutator *m,
		       uint64_t since_ns)
{
	if (m->stretch == u->stretch) {
		mmu_until(&m->windows, since_ns);
		u->lanes--;
		u->stopped -= m->stopped;
	}
	m->stretch = 0;
	m->stopped = false;
	mmu_end_at(&m->windows, since_ns);
}

static int begin_lane(struct stat_lane *l, uint64_t from_ns)
{
	struct stat_lane_mutator *m = l->mutator;
	struct stat_process_mutator *u = l->process->mutator;
	/* Its time before has ended there. */
	mmu_until(&m->windows, l->until_ns);
	u->stopped -= m->stopped && m->stretch == u->stretch;
	m->stopped = false;
	m->from_ns = from_ns;
	int err = set_share(u, from_ns);
	return err ? err : mmu_begin(&m->windows, from_ns);
}

/* ---- holes of many lanes ---- */

static void unlist_lane(struct stat_lane_mutator *m)
{
	if (!m->at)
		return;
	*m->at = m->next;
	if (m->next)
		m->next->at = m->at;
	m->at = NULL;
}

static void unlist_process(struct stat_process_mutator *u, bool in_ring)
{
	if (!u->at[in_ring])
		return;
	*u->at[in_ring] = u->next[in_ring];
	if (u->next[in_ring])
		u->next[in_ring]->at[in_ring] = u->at[in_ring];
	u->at[in_ring] = NULL;
}

static void list_process(struct stat_mutator_room *room, struct stat_process_mutator *u,
			 bool in_ring)
{
	struct stat_process_mutator **list = &room->listed[in_ring];
	if (u->at[in_ring])
		return;
	u->next[in_ring] = *list;
	u->at[in_ring] = list;
	if (*list)
		(*list)->at[in_ring] = &u->next[in_ring];
	*list = u;
}

static void list_lane(struct stat_mutator_room *room, const struct stat_lane *l)
{
	struct stat_lane_mutator *m = l->mutator;
	struct stat_lane_mutator **list = &l->process->mutator->listed[l->in_ring];
	if (m->at && m->in_ring == l->in_ring)
		return;
	unlist_lane(m);
	m->in_ring = l->in_ring;
	m->next = *list;
	m->at = list;
	if (*list)
		(*list)->at = &m->next;
	*list = m;
	list_process(room, l->process->mutator, l->in_ring);
}

/* A lane without a stretch has none until its next event: it costs no loss anything until then. */
static int break_listed(struct stat_process_mutator *u, bool in_ring, uint64_t since_ns,
			uint64_t ns)
{
	bool any = u->listed[in_ring];
	for (struct stat_lane_mutator *m; (m = u->listed[in_ring]);) {
		unlist_lane(m);
		break_lane(u, m, since_ns);
	}
	unlist_process(u, in_ring);
	return any ? break_process(u, since_ns, ns) : 0;
}

int stat_mutator_hole(struct stat_process *p, bool anywhere, uint64_t since_ns, uint64_t ns)
{
	int err = 0;
	for (int in_ring = 0; p->mutator && in_ring <= anywhere && !err; in_ring++)
		err = break_listed(p->mutator, in_ring, since_ns, ns);
	return err;
}

int stat_mutator_hole_all(struct stat_mutator_room *room, bool anywhere, uint64_t since_ns,
			  uint64_t ns)
{
	int err = 0;
	for (int in_ring = 0; in_ring <= anywhere; in_ring++)
		while (!err && room->listed[in_ring])
			err = break_listed(room->listed[in_ring], in_ring, since_ns, ns);
	return err;
}

int stat_mutator_hole_lane(struct stat_lane *l, uint64_t since_ns, uint64_t ns)
{
	if (!l->mutator)
		return 0;
	break_lane(l->process->mutator, l->mutator, since_ns);
	return break_process(l->process->mutator, since_ns, ns);
}

/* ---- events ---- */

int stat_mutator_follow(struct stat_mutator_room *room, struct stat_lane *l, uint64_t ns)
{
	if ((!l->mutator || !l->process->mutator) && make(room, l))
		return -ENOMEM;
	struct stat_lane_mutator *m = l->mutator;
	struct stat_process_mutator *u = l->process->mutator;
	const struct pause_thread *t = &l->pauses.clock.now;
	bool lives = l->state == STAT_LANE_LIVE, stops = lives && t->stopping;
	list_lane(room, l);
	int err = is_new(l) ? begin_lane(l, stretch_of(l)) : 0;
	if (!err && lives && m->stretch != u->stretch)
		err = enter(u, m, ns);
	if (!err && m->stopped && (!stops || t->begin_ns != m->part_ns))
		err = set_stopped(u, m, false, ns);
	m->part_ns = t->begin_ns;
	if (!err && stops && !m->stopped)
		err = set_stopped(u, m, true, stat_stream_later(t->begin_ns, m->from_ns));
	if (!err && !lives)
		err = leave(u, m, ns);
	mmu_until(&m->windows, lives ? ns : l->until_ns);
	mmu_until(&u->windows, ns);
	return err;
}

int stat_mutator_forget(struct stat_lane *l, uint64_t ns)
{
	if (!l->mutator)
		return 0;
	uint64_t since_ns = stretch_of(l);
	int err = stat_mutator_hole_lane(l, since_ns, ns);
	return err ? err : begin_lane(l, ns);
}

void stat_mutator_stop(struct stat_process *p, uint64_t ns)
{
	if (!p->mutator)
		return;
	struct stat_process_mutator *u = p->mutator;
	mmu_until(&u->windows, ns);
	mmu_end(&u->windows);
	u->from_ns = stat_stream_later(u->from_ns, ns);
	u->lanes = u->stopped = 0;
	u->stretch++;
}

/* ---- the end ---- */

void stat_mutator_settle_lane(const struct stat_lane *l, uint64_t ns)
{
	uint64_t end = l->state == STAT_LANE_LIVE ? ns : l->until_ns;
	if (l->mutator)
		mmu_settle(&l->mutator->windows, is_new(l) ? 0 : end);
}

void stat_mutator_settle(const struct stat_process *p, uint64_t ns)
{
	struct stat_process_mutator *u = p->mutator;
	if (u)
		mmu_settle(&u->windows, u->lanes ? ns : 0);
}

/* Its lanes are in no list any more. */
static void unlist(struct stat_process *p)
{
	for (struct stat_lane *l = p->lanes; l; l = l->next)
		if (l->mutator)
			unlist_lane(l->mutator);
	for (int in_ring = 0; in_ring < 2; in_ring++)
		unlist_process(p->mutator, in_ring);
}

void stat_mutator_release(struct stat_process *p)
{
	if (!p->mutator)
		return;
	unlist(p);
	mmu_release(&p->mutator->windows);
	for (struct stat_lane *l = p->lanes; l; l = l->next)
		if (l->mutator)
			mmu_release(&l->mutator->windows);
}

static void free_lane(struct stat_lane *l)
{
	if (l->mutator)
		mmu_done(&l->mutator->windows);
	free(l->mutator);
	l->mutator = NULL;
}

void stat_mutator_free(struct stat_process *p)
{
	if (!p->mutator)
		return;
	unlist(p);
	for (struct stat_lane *l = p->lanes; l; l = l->next)
		free_lane(l);
	mmu_done(&p->mutator->windows);
	free(p->mutator);
	p->mutator = NULL;
}
