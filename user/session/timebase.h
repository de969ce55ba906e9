/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock of a stream's times, and its offset to other clocks: one moment as each clock shows it.
 * Every source has a timebase; the session has that of the output. Zeroed memory is the monotonic
 * clock without a known moment.
 */
#ifndef SESSION_TIMEBASE_H
#define SESSION_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

enum timebase_clock {
	TIMEBASE_MONOTONIC = 0,
	TIMEBASE_REALTIME = 1,
	TIMEBASE_BOOTTIME = 2,
	TIMEBASE_RELATIVE = 3, /* from an origin that the source chose */
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
/* The clock of this name; TIMEBASE_UNKNOWN: there is none. */
enum timebase_clock timebase_parse(const char *name);

/* The current time on the three clocks of the kernel; the timebase is the monotonic one. */
struct timebase timebase_now(void);

/*
 * Computes the number to add, modulo 2^64, to a time of `from` to convert it to `to`. False if no
 * moment is known on both clocks: *ret_ns is 0.
 */
bool timebase_shift(const struct timebase *from, const struct timebase *to, uint64_t *ret_ns);

#endif
