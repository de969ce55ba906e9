/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The poll interval of rings: its minimum bounds our CPU, its maximum bounds latency. In between it
 * depends on the ring that fills fastest.
 */
#ifndef ENGINE_LIVE_INTERVAL_H
#define ENGINE_LIVE_INTERVAL_H

#include <stdint.h>

#include "source/ring/ring.h"

#define INTERVAL_MIN_NS 100000u

struct interval {
	uint64_t lap_ns, awake_until_ns; /* private */
};

void interval_init(struct interval *i);
/* Nanoseconds to wait after a step at `now`; 0: do not wait while there are events. */
uint64_t interval_ns(struct interval *i, struct ring_source *rings, uint64_t now);

#endif
