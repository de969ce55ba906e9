// SPDX-License-Identifier: BSD-2-Clause
#include "engine/live/budget.h"

void budget_init(struct budget *b, const struct budget_limits *limits, enum ebt_level first)
{
	*b = (struct budget){
		.limits = *limits,
		.first = first,
		.level = first,
		.hold = BUDGET_HOLD,
		.since_step = BUDGET_SETTLE,
	};
}

static bool is_over_cpu(struct budget *b, const struct budget_sample *s)
{
	double limit = b->limits.cpu;
	bool over = limit > 0 && s->cpu > limit;
	b->overs = over ? b->overs + 1 : 0;
	return over && (b->overs >= 2 || s->cpu > 2 * limit);
}

static bool is_over_memory(const struct budget *b, const struct budget_sample *s)
{
	uint64_t limit = b->limits.memory_bytes;
	return limit && s->memory_bytes > limit && b->since_step >= BUDGET_SETTLE;
}

/* The cost of the level above, at the present rate. */
static double cost_above(const struct budget *b, const struct budget_sample *s)
{
	double events = b->left[b->level - 1].events;
	return b->left[b->level - 1].cpu * (events > 0 ? s->events / events : 1);
}

static bool has_room(const struct budget *b, const struct budget_sample *s)
{
	const struct budget_limits *l = &b->limits;
	if (l->memory_bytes && (double)s->memory_bytes > BUDGET_ROOM * (double)l->memory_bytes)
		return false;
	return l->cpu <= 0 ||
	       (s->cpu <= BUDGET_ROOM * l->cpu && cost_above(b, s) <= BUDGET_ROOM * l->cpu);
}

static void step(struct budget *b, bool up)
{
	bool failed = !up && b->was_up && b->since_step < BUDGET_FAILED;
	if (failed)
		b->hold = 2 * b->hold < BUDGET_HOLD_MAX ? 2 * b->hold : BUDGET_HOLD_MAX;
	b->level = (enum ebt_level)((int)b->level + (up ? -1 : 1));
	b->was_up = up;
	b->overs = b->calms = b->since_step = 0;
}

enum budget_step budget_take(struct budget *b, const struct budget_sample *s)
{
	bool by_cpu = is_over_cpu(b, s), by_memory = is_over_memory(b, s);
	b->since_step += b->since_step < UINT32_MAX;
	if (b->since_step > BUDGET_HOLD_MAX)
		b->hold = BUDGET_HOLD;
	if ((by_cpu || by_memory) && b->level < EBT_LEVEL_COUNTS) {
		b->left[b->level].cpu = s->cpu;
		b->left[b->level].events = s->events;
		step(b, false);
		return by_cpu ? BUDGET_DOWN_CPU : BUDGET_DOWN_MEMORY;
	}
	b->calms = b->level > b->first && has_room(b, s) ? b->calms + 1 : 0;
	if (b->calms < b->hold || b->level == b->first)
		return BUDGET_STAYS;
	step(b, true);
	return BUDGET_UP;
}
