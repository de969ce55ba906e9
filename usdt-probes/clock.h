/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time stamps: CLOCK_MONOTONIC in ns, read through the vdso or computed from the cycle counter.
 *
 * The vdso costs as much as all the rest of a probe. If the counter's rate is constant and it is
 * the kernel's own clock source, each ring keeps a line (cycles0, mono0, slope) that is fitted
 * against the vdso every millisecond, and is accurate to 1 us of CLOCK_MONOTONIC. A new fit may go
 * back by a few ns; the caller keeps a ring's stamps monotonic. EBTRACE_CLOCK ("monotonic", "tsc")
 * overrides the choice, but never selects an unsuitable counter.
 */
#ifndef EBT_CLOCK_H
#define EBT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cycles.h"
#include "vdso.h"

#define EBT_CLOCK_FIT_NS 1000000

/* All zero: no line yet. Owned by one thread at a time. */
struct ebt_clock {
	uint64_t cycles0, mono0;
	uint64_t mult; /* ns a cycle, 32 bits of fraction */
	uint64_t span; /* cycles after cycles0 for which the line holds; 0: read the vdso */
};

/* Selects the clock, once; `override` is EBTRACE_CLOCK or NULL. Returns true for the counter. */
bool ebt_clock_choose(const char *override);
uint64_t ebt_clock_fit(struct ebt_clock *clock);

extern ebt_gettime_fn *ebt_clock_gettime __attribute__((visibility("hidden")));
extern bool ebt_clock_cycles __attribute__((visibility("hidden"))); /* the selected clock */

static inline uint64_t ebt_clock_monotonic(void)
{
	struct timespec ts;
	ebt_clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t ebt_clock_now(struct ebt_clock *clock)
{
	if (__builtin_expect(clock->span != 0, 1)) {
		uint64_t cycles = ebt_cycles() - clock->cycles0;
		if (__builtin_expect(cycles < clock->span, 1))
			return clock->mono0 + (cycles * clock->mult >> 32);
	}
	return ebt_clock_cycles ? ebt_clock_fit(clock) : ebt_clock_monotonic();
}

#endif
