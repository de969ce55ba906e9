/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lanes that sleep in sets through losses and pauses of recording come to the same numbers as lanes
 * that are visited one by one: two models get the same random events, and in the second one all
 * lanes are woken after each.
 */
#include "report/stat/model/stat.h"

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define ROUNDS 300
#define EVENTS 400

static uint32_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

static struct ebt_event draw_loss(struct ebt_event ev)
{
	ev.kind = EBT_LOST;
	ev.pid = draw(3) ? ev.pid : 0;
	if (!ev.pid || draw(4))
		ev.domain = EBT_NO_DOMAIN;
	ev.tid = 0;
	ev.flags = draw(3) ? EBT_F_BPF : 0;
	ev.pos = ev.ts - draw(draw(2) ? 1000000 : 2000);
	ev.arg[0] = draw(4);
	return ev;
}

/* Of few processes, domains and threads, so that each has a life of many changes. */
static struct ebt_event draw_event(uint64_t ts)
{
	bool is_thread = !draw(4), in_ring = !is_thread && draw(2);
	struct ebt_event ev = {.ts = ts,
			       .cpu = EBT_NO_CPU,
			       .pid = 1 + draw(2),
			       .domain = is_thread ? EBT_NO_DOMAIN : (uint16_t)draw(4),
			       .tid = is_thread ? 1 + draw(3) : draw(3),
			       .pos = in_ring ? ts : EBT_NO_POS,
			       .flags = in_ring ? EBT_F_RING : EBT_F_BPF};
	uint32_t what = draw(24);
	if (what < 3)
		return draw_loss(ev);
	ev.kind = draw(2) ? EBT_BEGIN : EBT_END;
	ev.id = draw(40);
	if (what < 6) {
		ev.kind =
			EBT_LIFECYCLE; /* more often recording pauses or resumes than all others */
		ev.id = draw(2) ? 2 + draw(2) : draw(8);
	} else if (what == 6) {
		ev.kind = draw(2) ? EBT_UNIT : EBT_COUNTER;
	} else if (what == 7 && !draw(3)) {
		ev.kind = EBT_PROCESS;
		ev.domain = EBT_NO_DOMAIN;
		ev.pos = EBT_NO_POS;
		ev.id = draw(3);
		ev.arg[0] = 1 + draw(3);
	}
	return ev;
}

static void wake_all(struct stat_model *m)
{
	for (struct stat_process *p = m->processes.first; p; p = p->next)
		for (struct stat_lane *l = p->lanes; l; l = l->next)
			stat_sets_wake(l);
}

/* What concerns many lanes finds all that live. */
static bool finds_all(const struct stat_model *m)
{
	for (const struct stat_process *p = m->processes.first; p; p = p->next)
		for (const struct stat_lane *l = p->lanes; l; l = l->next)
			if (l->state == STAT_LANE_LIVE && !l->list)
				return false;
	return true;
}

static bool same_lanes(const struct stat_lane *a, const struct stat_lane *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (a->number != b->number || a->elapsed_ns != b->elapsed_ns ||
		    a->pauses.clock.gc_ns != b->pauses.clock.gc_ns ||
		    a->uncovered_ns != b->uncovered_ns || a->pauses.count != b->pauses.count ||
		    a->minors != b->minors)
			return false;
	return !a && !b;
}

static bool same(const struct stat_model *m, const struct stat_model *n)
{
	const struct stat_process *p = m->processes.first, *q = n->processes.first;
	for (; p && q; p = p->next, q = q->next)
		if (p->pid != q->pid || p->begin_ns != q->begin_ns || p->wall_ns != q->wall_ns ||
		    p->numbers.majors != q->numbers.majors ||
		    p->numbers.unmatched != q->numbers.unmatched ||
		    p->numbers.pauses.whole.count != q->numbers.pauses.whole.count ||
		    p->numbers.pauses.whole.sum != q->numbers.pauses.whole.sum ||
		    p->numbers.pauses.cut_max_ns != q->numbers.pauses.cut_max_ns ||
		    memcmp(p->numbers.pauses.cut, q->numbers.pauses.cut,
			   sizeof(p->numbers.pauses.cut)) ||
		    memcmp(p->numbers.phases, q->numbers.phases, sizeof(p->numbers.phases)) ||
		    !same_lanes(p->lanes, q->lanes))
			return false;
	return !p && !q;
}

static bool try(uint32_t seed)
{
	struct session *session;
	struct stat_model sleeps, wakes;
	uint64_t now = 1000000000;
	state = seed;
	if (session_new(&session) || enter_processes(session, 16) ||
	    stat_model_init(&sleeps, session, 0) || stat_model_init(&wakes, session, 0))
		abort();
	if (draw(2))
		session->run_begin = moment_at(now);
	bool found = true;
	for (int i = 0; i < EVENTS; i++) {
		now += 1 + draw(draw(50) ? 5000 : 900000000);
		struct ebt_event ev = draw_event(now);
		if (stat_model_events(&sleeps, &ev, 1) || stat_model_events(&wakes, &ev, 1))
			abort();
		found = found && finds_all(&sleeps);
		wake_all(&wakes);
	}
	bool ends = !stat_model_end(&sleeps) && !stat_model_end(&wakes);
	bool ret = ends && found && same(&sleeps, &wakes);
	stat_model_done(&sleeps);
	stat_model_done(&wakes);
	session_free(session);
	return ret;
}

int main(void)
{
	uint32_t bad = 0;
	for (uint32_t seed = 1; seed <= ROUNDS && !bad; seed++)
		bad = try(seed) ? 0 : seed;
	is(bad, 0, "lanes that sleep come to the numbers of lanes that do not; seed");
	return tap_done();
}
