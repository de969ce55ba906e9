/* SPDX-License-Identifier: BSD-2-Clause */
/* Random events of the runtimes of two processes, and the comparison of what models make of
 * them. */
#ifndef TESTS_STAT_RANDOM_H
#define TESTS_STAT_RANDOM_H

#include "report/stat/model/snapshot.h"

#include <string.h>

struct stat_random {
	uint32_t state;
};

/* A number below n. */
static inline uint32_t stat_random_draw(struct stat_random *r, uint32_t n)
{
	r->state = r->state * 1664525 + 1013904223;
	return (r->state >> 8) % n;
}

static inline struct ebt_event stat_random_loss(struct stat_random *r, struct ebt_event ev)
{
	ev.kind = EBT_LOST;
	ev.pid = stat_random_draw(r, 3) ? ev.pid : 0;
	if (!ev.pid || stat_random_draw(r, 4))
		ev.domain = EBT_NO_DOMAIN;
	ev.tid = 0;
	ev.flags = stat_random_draw(r, 3) ? EBT_F_BPF : 0;
	ev.pos = ev.ts - stat_random_draw(r, stat_random_draw(r, 2) ? 1000000 : 2000);
	ev.arg[0] = stat_random_draw(r, 4);
	return ev;
}

/* Of few processes, domains and threads, so that each has a life of many changes. */
static inline struct ebt_event stat_random_event(struct stat_random *r, uint64_t ts)
{
	bool is_thread = !stat_random_draw(r, 4), in_ring = !is_thread && stat_random_draw(r, 2);
	struct ebt_event ev = {
		.ts = ts,
		.cpu = EBT_NO_CPU,
		.pid = 1 + stat_random_draw(r, 2),
		.domain = is_thread ? EBT_NO_DOMAIN : (uint16_t)stat_random_draw(r, 4),
		.tid = is_thread ? 1 + stat_random_draw(r, 3) : stat_random_draw(r, 3),
		.pos = in_ring ? ts : EBT_NO_POS,
		.flags = in_ring ? EBT_F_RING : EBT_F_BPF};
	uint32_t what = stat_random_draw(r, 24);
	if (what < 3)
		return stat_random_loss(r, ev);
	ev.kind = stat_random_draw(r, 2) ? EBT_BEGIN : EBT_END;
	ev.id = stat_random_draw(r, 40);
	if (what < 6) {
		ev.kind =
			EBT_LIFECYCLE; /* more often recording pauses or resumes than all others */
		ev.id = stat_random_draw(r, 2) ? 2 + stat_random_draw(r, 2)
					       : stat_random_draw(r, 8);
	} else if (what == 6) {
		ev.kind = stat_random_draw(r, 2) ? EBT_UNIT : EBT_COUNTER;
	} else if (what == 7 && !stat_random_draw(r, 3)) {
		ev.kind = EBT_PROCESS;
		ev.domain = EBT_NO_DOMAIN;
		ev.pos = EBT_NO_POS;
		ev.id = stat_random_draw(r, 3);
		ev.arg[0] = 1 + stat_random_draw(r, 3);
	}
	return ev;
}

static inline bool stat_same_lanes(const struct stat_lane *a, const struct stat_lane *b)
{
	for (; a && b; a = a->next, b = b->next)
		if (a->number != b->number || a->elapsed_ns != b->elapsed_ns ||
		    a->pauses.clock.gc_ns != b->pauses.clock.gc_ns ||
		    a->uncovered_ns != b->uncovered_ns || a->pauses.count != b->pauses.count ||
		    a->minors != b->minors)
			return false;
	return !a && !b;
}

static inline bool stat_same(const struct stat_snapshot *m, const struct stat_snapshot *n)
{
	const struct stat_process *p = m->first, *q = n->first;
	for (; p && q; p = p->next, q = q->next)
		if (p->pid != q->pid || p->begin_ns != q->begin_ns || p->wall_ns != q->wall_ns ||
		    p->numbers.elapsed_ns != q->numbers.elapsed_ns ||
		    p->numbers.gc_ns != q->numbers.gc_ns ||
		    p->numbers.majors != q->numbers.majors ||
		    p->numbers.unmatched != q->numbers.unmatched ||
		    p->numbers.pauses.whole.count != q->numbers.pauses.whole.count ||
		    p->numbers.pauses.whole.sum != q->numbers.pauses.whole.sum ||
		    p->numbers.pauses.cut_max_ns != q->numbers.pauses.cut_max_ns ||
		    memcmp(p->numbers.pauses.cut, q->numbers.pauses.cut,
			   sizeof(p->numbers.pauses.cut)) ||
		    memcmp(p->numbers.phases, q->numbers.phases, sizeof(p->numbers.phases)) ||
		    !stat_same_lanes(p->lanes, q->lanes))
			return false;
	return !p && !q;
}

#endif
