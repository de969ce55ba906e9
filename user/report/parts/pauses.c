/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parts/pauses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void pauses_done(struct pauses *p)
{
	free(p->held);
	pause_clock_done(&p->clock);
}

static void count_cut(struct stat_pauses *sum, enum stat_cut cut, uint64_t ns)
{
	sum->cut[cut]++;
	if (ns > sum->cut_max_ns)
		sum->cut_max_ns = ns;
}

/* ---- whether the begin of each may have been missed ---- */

static int count(struct pauses *p, uint64_t ns)
{
	int err = histogram_add(&p->sum->whole, ns);
	p->count += !err;
	return err;
}

int pauses_settle(struct pauses *p)
{
	int err = 0;
	for (uint32_t i = 0; !err && i < p->held_count; i++)
		err = count(p, p->held[i]);
	p->held_count = 0;
	p->certainty = PAUSES_SURE;
	return err;
}

void pauses_unsure(struct pauses *p, uint64_t now_ns, enum stat_cut cause)
{
	p->certainty = PAUSES_UNSURE;
	p->unsure_cause = cause;
	p->unsure_ns = now_ns;
	p->unsure_gc_ns = p->clock.gc_ns;
}

static int hold(struct pauses *p, uint64_t ns, uint64_t now_ns)
{
	if (p->held_count == PAUSES_HELD_MAX || now_ns > p->unsure_ns + PAUSES_HELD_NS) {
		int err = pauses_settle(p);
		return err ? err : count(p, ns);
	}
	if (!array_reserve(p->held, p->held_cap, p->held_count))
		return -ENOMEM;
	p->held[p->held_count++] = ns;
	return 0;
}

int pauses_add(struct pauses *p, uint64_t ns, enum stat_cut cut, uint64_t now_ns,
	       struct histogram *interval)
{
	if (cut != STAT_CUTS) {
		count_cut(p->sum, cut, ns);
		/* This is the cut pause: an end without a begin that comes later counts no other
		 * one. */
		if (cut == p->unsure_cause && p->certainty == PAUSES_UNSURE)
			p->certainty = PAUSES_CUT;
		return 0;
	}
	/* A line does not wait until it is known whether this was a part of a longer one. */
	int err = interval ? histogram_add(interval, ns) : 0;
	if (err)
		return err;
	return p->certainty == PAUSES_SURE ? count(p, ns) : hold(p, ns, now_ns);
}

void pauses_orphan(struct pauses *p, uint64_t ns)
{
	p->held_count = 0;
	p->clock.gc_ns = p->unsure_gc_ns + ns;
	if (ns > p->sum->cut_max_ns)
		p->sum->cut_max_ns = ns;
	p->sum->cut[p->unsure_cause] += p->certainty == PAUSES_UNSURE;
	p->certainty = PAUSES_CUT;
}
