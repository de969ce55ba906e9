/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock that times are of, and how it stands to others: one moment as each of them shows it.
 * Every source has one, and the session has that of the output. Zeroed memory is the monotonic
 * clock, of which no moment is known.
 */
#ifndef CORE_TIMEBASE_H
#define CORE_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

enum timebase_clock {
	TIMEBASE_MONOTONIC = 0,
	TIMEBASE_REALTIME = 1,
	TIMEBASE_BOOTTIME = 2,
	TIMEBASE_RELATIVE = 3, /* from a moment of the source's own */
	TIMEBASE_UNKNOWN = 4,
};
#define TIMEBASE_CLOCKS 5

/* A time that may not be known. */
struct moment {
	uint64_t ns; /* 0 if it is not known */
	bool known;
};

static inline struct moment moment_at(uint64_t ns)
{
	return (struct moment){ns, true};
}

struct timebase {
	enum timebase_clock clock;
	struct moment at[TIMEBASE_CLOCKS]; /* one moment, on each clock */
};

/* "monotonic", "realtime", … Static. */
const char *timebase_name(enum timebase_clock clock);
/* TIMEBASE_UNKNOWN if it is no name of one. */
enum timebase_clock timebase_parse(const char *name);

/* This moment on the three clocks of the kernel; times are of the monotonic one. */
struct timebase timebase_now(void);

/*
 * What is to be added to a time of one to have that of the other, modulo 2^64. False if no moment is
 * known on both: *ret_ns is 0 then.
 */
bool timebase_shift(const struct timebase *from, const struct timebase *to, uint64_t *ret_ns);

#endif
