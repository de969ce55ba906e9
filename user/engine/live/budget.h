/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much is recorded under a budget of CPU time and memory: the rule alone, of one sample a
 * second. It reads no clock and changes nothing.
 *
 *   down   One level: when the cost is above twice the budget, or above it in two samples in a row,
 *          or when the memory is, and BUDGET_SETTLE samples have passed since the last step.
 *   up     One level: when for `hold` samples in a row the cost is below BUDGET_ROOM of the budget,
 *          and so is what the level above would cost: what it did when it was left, at the present
 *          rate of events. `hold` is BUDGET_HOLD at first; it doubles, up to BUDGET_HOLD_MAX, each
 *          time that a step up is taken back within BUDGET_FAILED samples, and is BUDGET_HOLD again
 *          when the level has not changed for as long as BUDGET_HOLD_MAX.
 */
#ifndef ENGINE_LIVE_BUDGET_H
#define ENGINE_LIVE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "source/bpf/kernel.h"

#define BUDGET_ROOM	0.7
#define BUDGET_SETTLE	5u
#define BUDGET_FAILED	10u
#define BUDGET_HOLD	3u
#define BUDGET_HOLD_MAX 60u
#define BUDGET_LEVELS	3

/* 0: no limit. cpu: of one CPU, 0.05 are 5 %. */
struct budget_limits {
	double cpu;
	uint64_t memory_bytes;
};

struct budget_sample {
	double cpu;    /* of one CPU: the tracer, and what the probes cost the programs */
	double events; /* a second, recorded or not */
	uint64_t memory_bytes;
};

/* Fields are private, except `level`, which is the present one. */
struct budget {
	struct budget_limits limits;
	enum ebt_level first, level;
	unsigned overs, calms, hold;
	unsigned since_step; /* samples */
	bool was_up;	     /* the last step */
	struct {
		double cpu, events;
	} left[BUDGET_LEVELS]; /* of each level, when a step down has left it */
};

enum budget_step { BUDGET_STAYS, BUDGET_DOWN_CPU, BUDGET_DOWN_MEMORY, BUDGET_UP };

/* first: the highest level. */
void budget_init(struct budget *b, const struct budget_limits *limits, enum ebt_level first);
enum budget_step budget_take(struct budget *b, const struct budget_sample *s);

#endif
