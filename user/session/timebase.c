/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/timebase.h"

#include "base/clock.h"
#include <string.h>

static const char *const names[TIMEBASE_CLOCKS] = {
	[TIMEBASE_MONOTONIC] = "monotonic", [TIMEBASE_REALTIME] = "realtime",
	[TIMEBASE_BOOTTIME] = "boottime",   [TIMEBASE_RELATIVE] = "relative",
	[TIMEBASE_UNKNOWN] = "unknown",
};

const char *timebase_name(enum timebase_clock clock)
{
	return names[clock];
}

enum timebase_clock timebase_parse(const char *name)
{
	for (unsigned i = 0; i < TIMEBASE_UNKNOWN; i++)
		if (!strcmp(names[i], name))
			return (enum timebase_clock)i;
	return TIMEBASE_UNKNOWN;
}

struct timebase timebase_now(void)
{
	return (struct timebase){
		.clock = TIMEBASE_MONOTONIC,
		.at = {[TIMEBASE_MONOTONIC] = moment_at(clock_ns(CLOCK_MONOTONIC)),
		       [TIMEBASE_REALTIME] = moment_at(clock_ns(CLOCK_REALTIME)),
		       [TIMEBASE_BOOTTIME] = moment_at(clock_ns(CLOCK_BOOTTIME))},
	};
}

/* From a clock of the timebase to another, as the one moment shows them. False: not known. */
static bool step(const struct timebase *t, unsigned from, unsigned to, uint64_t *ret_ns)
{
	*ret_ns = t->at[to].ns - t->at[from].ns;
	return t->at[to].known && t->at[from].known;
}

bool timebase_shift(const struct timebase *from, const struct timebase *to, uint64_t *ret_ns)
{
	/* By a clock of the kernel's that both are, or know a moment of. */
	for (unsigned i = 0; i < TIMEBASE_RELATIVE; i++) {
		uint64_t there = 0, back = 0;
		if ((from->clock == i || step(from, from->clock, i, &there)) &&
		    (to->clock == i || step(to, i, to->clock, &back))) {
			*ret_ns = there + back;
			return true;
		}
	}
	*ret_ns = 0;
	return false;
}
