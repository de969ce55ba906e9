/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/pauses.h"

#include <errno.h>
#include <stdlib.h>

void pauses_done(struct pauses *p)
{
	free(p->held);
	free(p->waiting);
}

/* ---- the present thread ---- */

/* NULL: the thread does not wait. tid 0: a free one. */
static struct pauses_waiting *find_waiting(const struct pauses *p, uint32_t tid)
{
	for (unsigned i = 0; p->waiting && i < PAUSES_WAITING; i++)
		if (p->waiting[i].tid == tid)
			return &p->waiting[i];
	return NULL;
}

/* The part of the open pause up to now counts. */
static void spend(struct pauses *p, uint64_t now_ns)
{
	uint64_t ns = now_ns > p->begin_ns ? now_ns - p->begin_ns : 0;
	p->gc_ns += ns;
	p->spent_ns += ns;
}

int pauses_thread(struct pauses *p, uint32_t tid, uint64_t last_ns, uint64_t now_ns)
{
	struct pauses_waiting *w;
	if (p->stopping && p->tid) {
		if (!p->waiting && !(p->waiting = calloc(PAUSES_WAITING, sizeof(*p->waiting))))
			return -ENOMEM;
		w = find_waiting(p, 0);
		if (!w) /* more than that are one, as where threads are not known */
			return 0;
		spend(p, last_ns);
		*w = (struct pauses_waiting){p->tid, p->stopping, p->spent_ns};
		p->stopping = 0;
		p->spent_ns = 0;
	}
	p->tid = tid;
	w = p->stopping ? NULL : find_waiting(p, tid);
	if (!w)
		return 0;
	p->stopping = w->stopping;
	p->spent_ns = w->spent_ns;
	p->begin_ns = now_ns;
	*w = (struct pauses_waiting){0};
	return 0;
}

bool pauses_waits(const struct pauses *p, uint32_t tid)
{
	return tid != p->tid && find_waiting(p, tid);
}

static void count_cut(struct stat_pauses *sum, enum stat_cut cut, uint64_t ns)
{
	sum->cut[cut]++;
	if (ns > sum->cut_max_ns)
		sum->cut_max_ns = ns;
}

void pauses_cut(struct pauses *p, enum stat_cut cut)
{
	for (unsigned i = 0; p->waiting && i < PAUSES_WAITING; i++) {
		if (!p->waiting[i].tid)
			continue;
		count_cut(p->sum, cut, p->waiting[i].spent_ns);
		p->waiting[i] = (struct pauses_waiting){0};
	}
}

/* ---- whether the begin of each may have been missed ---- */

static int add(struct pauses *p, uint64_t ns)
{
	int err = histogram_add(&p->sum->whole, ns);
	p->count += !err;
	return err;
}

int pauses_settle(struct pauses *p)
{
	int err = 0;
	for (uint32_t i = 0; !err && i < p->held_count; i++)
		err = add(p, p->held[i]);
	p->held_count = 0;
	p->certainty = PAUSES_SURE;
	return err;
}

void pauses_unsure(struct pauses *p, uint64_t now_ns, enum stat_cut cause)
{
	p->certainty = PAUSES_UNSURE;
	p->unsure_cause = cause;
	p->unsure_ns = now_ns;
	p->unsure_gc_ns = p->gc_ns;
}

static int hold(struct pauses *p, uint64_t ns, uint64_t now_ns)
{
	if (p->held_count == PAUSES_HELD_MAX || now_ns > p->unsure_ns + PAUSES_HELD_NS) {
		int err = pauses_settle(p);
		return err ? err : add(p, ns);
	}
	if (p->held_count == p->held_cap) {
		uint32_t cap = p->held_cap ? 4 * p->held_cap : 4; /* few lanes hold many */
		uint64_t *held = realloc(p->held, cap * sizeof(*held));
		if (!held)
			return -ENOMEM;
		p->held = held;
		p->held_cap = cap;
	}
	p->held[p->held_count++] = ns;
	return 0;
}

int pauses_end(struct pauses *p, uint64_t end_ns, enum stat_cut cut, uint64_t now_ns,
	       struct histogram *interval)
{
	spend(p, end_ns);
	uint64_t ns = p->spent_ns;
	p->spent_ns = 0;
	if (cut != STAT_CUTS) {
		count_cut(p->sum, cut, ns);
		return 0;
	}
	/* A line does not wait until it is known whether this was a part of a longer one. */
	int err = interval ? histogram_add(interval, ns) : 0;
	if (err)
		return err;
	return p->certainty == PAUSES_SURE ? add(p, ns) : hold(p, ns, now_ns);
}

void pauses_orphan(struct pauses *p, uint64_t ns)
{
	p->held_count = 0;
	p->gc_ns = p->unsure_gc_ns + ns;
	if (ns > p->sum->cut_max_ns)
		p->sum->cut_max_ns = ns;
	p->sum->cut[p->unsure_cause] += p->certainty == PAUSES_UNSURE;
	p->certainty = PAUSES_CUT;
}
