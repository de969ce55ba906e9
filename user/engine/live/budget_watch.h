/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps a live run within its budget: measures each second what the tracer and its probes cost, and
 * has less recorded, or more again, as the rule says (budget.h). Each step is a message. The probes
 * cost as many hits as there were times the price of one, which is measured at the begin.
 */
#ifndef ENGINE_LIVE_BUDGET_WATCH_H
#define ENGINE_LIVE_BUDGET_WATCH_H

#include "engine/context.h"
#include "engine/live/budget.h"
#include "engine/loop.h"
#include "source/ring/ring.h"

/* Zeroed memory watches nothing. Fields are private. */
struct budget_watch {
	const struct engine *engine;
	struct source *probes; /* NULL: none */
	struct ring_source *rings;
	pid_t program; /* that we have started; or 0 */
	struct budget budget;
	double price_ns;
	/* at the last sample */
	uint64_t at_ns, cpu_ns, probes_ns, events;
	struct loop_timer timer;
};

/* Nothing is watched without a budget. What it points to outlives it. */
void budget_watch_begin(struct budget_watch *w, const struct engine *e, struct loop *l,
			struct source *probes, struct ring_source *rings, pid_t program);
void budget_watch_end(struct budget_watch *w, struct loop *l);

#endif
