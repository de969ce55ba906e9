/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The budget of a live run (--cpu, --memory) as it is: limits, what they have led to, and what
 * the last second has cost. The engine writes it, reports show it.
 */
#ifndef SESSION_BUDGET_STATE_H
#define SESSION_BUDGET_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* What is recorded, by level: the words of reports, the highest level first. */
#define BUDGET_LEVEL_WORDS(first, next) first(events) next(rings) next(counts)

struct budget_state {
	const char *level;	     /* one of these words; NULL: no budget */
	uint64_t changes;	     /* of the level */
	double cpu_limit;	     /* of one CPU, 0.05 are 5 %; 0: none */
	uint64_t memory_limit_bytes; /* 0: none */
	bool measured;		     /* the costs are known */
	double tracer_cpu, probes_cpu;
	uint64_t memory_bytes; /* measured where there is a limit */
};

#endif
