// SPDX-License-Identifier: BSD-2-Clause
/* The rule of the budget alone: samples in, levels out. */
#include "engine/live/budget.h"
#include "tests/tap.h"

#define EVENTS EBT_LEVEL_EVENTS
#define RINGS  EBT_LEVEL_RINGS
#define COUNTS EBT_LEVEL_COUNTS
#define MIB    (1ull << 20)

/* One sample, and the level behind it. */
struct row {
	double cpu, events;
	uint64_t memory;
	enum ebt_level level;
};

static bool follows(const struct budget_limits *limits, enum ebt_level first, const struct row *row,
		    unsigned rows)
{
	struct budget b;
	budget_init(&b, limits, first);
	for (unsigned i = 0; i < rows; i++) {
		struct budget_sample s = {row[i].cpu, row[i].events, row[i].memory};
		budget_take(&b, &s);
		if (b.level == row[i].level)
			continue;
		diag("sample %u: level %d, expected %d", i, b.level, row[i].level);
		return false;
	}
	return true;
}

#define check(name, limits, first, ...)                                                  \
	do {                                                                             \
		static const struct row rows[] = {__VA_ARGS__};                          \
		ok(follows(&(limits), first, rows, sizeof(rows) / sizeof(*rows)), name); \
	} while (0)

static const struct budget_limits cpu = {.cpu = 0.05}, memory = {.memory_bytes = 100 * MIB},
				  both = {0.05, 100 * MIB};

static void test_down(void)
{
	check("within the budget nothing changes", cpu, EVENTS, {0.04, 1e4, 0, EVENTS},
	      {0.05, 1e4, 0, EVENTS}, {0.0, 0, 0, EVENTS});
	check("far above it each sample steps down, and the last level is kept", cpu, EVENTS,
	      {0.5, 1e6, 0, RINGS}, {0.2, 1e6, 0, COUNTS}, {0.5, 1e6, 0, COUNTS});
	check("a little above it, two in a row do", cpu, EVENTS, {0.06, 1e5, 0, EVENTS},
	      {0.06, 1e5, 0, RINGS}, {0.06, 1e5, 0, RINGS}, {0.06, 1e5, 0, COUNTS});
	check("one that is alone does not", cpu, EVENTS, {0.06, 1e5, 0, EVENTS},
	      {0.04, 1e5, 0, EVENTS}, {0.06, 1e5, 0, EVENTS}, {0.04, 1e5, 0, EVENTS});
	check("where rings are read alone, that is the highest level", cpu, RINGS,
	      {0.5, 1e6, 0, COUNTS}, {0.01, 0, 0, COUNTS}, {0.01, 0, 0, COUNTS},
	      {0.01, 0, 0, RINGS}, {0.01, 0, 0, RINGS}, {0.01, 0, 0, RINGS}, {0.01, 0, 0, RINGS},
	      {0.01, 0, 0, RINGS});
	check("memory steps down at once, and then waits for what that brings", memory, EVENTS,
	      {9, 1e6, 101 * MIB, RINGS}, {9, 1e6, 101 * MIB, RINGS}, {9, 1e6, 101 * MIB, RINGS},
	      {9, 1e6, 101 * MIB, RINGS}, {9, 1e6, 101 * MIB, RINGS}, {9, 1e6, 101 * MIB, RINGS},
	      {9, 1e6, 101 * MIB, COUNTS});
}

static void test_up(void)
{
	check("what is cheap for three samples steps up, one level at a time", cpu, EVENTS,
	      {0.5, 1e6, 0, RINGS}, {0.2, 1e6, 0, COUNTS}, {0.01, 1e3, 0, COUNTS},
	      {0.01, 1e3, 0, COUNTS}, {0.01, 1e3, 0, RINGS}, {0.01, 1e3, 0, RINGS},
	      {0.01, 1e3, 0, RINGS}, {0.01, 1e3, 0, EVENTS});
	check("but not at the rate at which the level above was left", cpu, EVENTS,
	      {0.5, 1e6, 0, RINGS}, {0.01, 1e6, 0, RINGS}, {0.01, 1e6, 0, RINGS},
	      {0.01, 1e6, 0, RINGS}, {0.01, 1e6, 0, RINGS}, {0.01, 1e6, 0, RINGS});
	check("a sample that is not cheap begins anew", cpu, EVENTS, {0.5, 1e6, 0, RINGS},
	      {0.01, 1e3, 0, RINGS}, {0.01, 1e3, 0, RINGS}, {0.04, 1e3, 0, RINGS},
	      {0.01, 1e3, 0, RINGS}, {0.01, 1e3, 0, RINGS}, {0.01, 1e3, 0, EVENTS});
	check("both limits must have room", both, EVENTS, {0.5, 1e6, MIB, RINGS},
	      {0.01, 1e3, 80 * MIB, RINGS}, {0.01, 1e3, 80 * MIB, RINGS},
	      {0.01, 1e3, 80 * MIB, RINGS}, {0.01, 1e3, 60 * MIB, RINGS},
	      {0.01, 1e3, 60 * MIB, RINGS}, {0.01, 1e3, 60 * MIB, EVENTS});
}

/* The tracer at a rate of events: each costs so much at each level, and `fixed` is beside that. */
static unsigned steps_in(const double ns[BUDGET_LEVELS], double fixed, double rate,
			 unsigned samples, struct budget *b)
{
	unsigned steps = 0;
	for (unsigned i = 0; i < samples; i++) {
		struct budget_sample s = {.cpu = fixed + rate * ns[b->level] / 1e9, .events = rate};
		steps += budget_take(b, &s) != BUDGET_STAYS;
	}
	return steps;
}

static void test_no_oscillation(void)
{
	static const double ns[BUDGET_LEVELS] = {550, 60, 5};
	unsigned most = 0;
	for (double rate = 1e3; rate < 1e7; rate *= 1.3) {
		struct budget b;
		budget_init(&b, &cpu, EVENTS);
		unsigned steps = steps_in(ns, 0.005, rate, 600, &b);
		most = steps > most ? steps : most;
	}
	ok(most <= 2, "at a steady rate no level is left twice, whatever the rate is (%u steps)",
	   most);

	/* Events that are seen only while they are recorded: the rule cannot foresee their cost. */
	static const double hidden[BUDGET_LEVELS] = {0, 0, 0};
	struct budget b;
	budget_init(&b, &cpu, EVENTS);
	unsigned steps = 0;
	for (unsigned i = 0; i < 600; i++) {
		bool seen = b.level == EVENTS;
		steps += steps_in(hidden, seen ? 0.06 : 0.01, seen ? 2e5 : 1, 1, &b);
	}
	ok(steps > 10 && steps <= 2 * (600 / BUDGET_HOLD_MAX + 5),
	   "where each step up must be taken back they become rare (%u steps in 600 samples)",
	   steps);
}

/* A step up that is taken back after so many samples. The samples that the next one takes. */
static unsigned hold_after(unsigned samples)
{
	struct budget b;
	struct budget_sample cheap = {.cpu = 0.01, .events = 1}, dear = {.cpu = 0.5, .events = 1e6};
	budget_init(&b, &cpu, EVENTS);
	budget_take(&b, &dear);
	while (b.level != EVENTS)
		budget_take(&b, &cheap);
	for (unsigned i = 1; i < samples; i++)
		budget_take(&b, &cheap);
	budget_take(&b, &dear);
	return b.level == RINGS ? b.hold : 0;
}

static void test_failed(void)
{
	is(hold_after(1), 2 * BUDGET_HOLD, "a step up that is taken back at once has failed");
	is(hold_after(BUDGET_FAILED - 1), 2 * BUDGET_HOLD, "so has one that lasts nine samples");
	is(hold_after(BUDGET_FAILED), BUDGET_HOLD, "one that lasts ten has not");
}

static void test_quiet_again(void)
{
	static const double ns[BUDGET_LEVELS] = {550, 60, 5};
	struct budget b;
	budget_init(&b, &cpu, EVENTS);
	steps_in(ns, 0.005, 1e6, 3, &b);
	ok(b.level == COUNTS, "a million events a second: counted after three samples");
	steps_in(ns, 0.005, 3e5, 30, &b);
	ok(b.level == RINGS, "at a third of it the rings are read again, and no more");
	steps_in(ns, 0.005, 1e4, 30, &b);
	ok(b.level == EVENTS, "at a hundredth all is recorded again");
	ok(b.hold == BUDGET_HOLD, "no step was taken back");
}

int main(void)
{
	test_down();
	test_up();
	test_no_oscillation();
	test_quiet_again();
	test_failed();
	return tap_done();
}
