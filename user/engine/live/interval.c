/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/interval.h"

#define MAX_NS	   2000000ull
#define LAP_MAX_NS (16 * MAX_NS) /* slower rings are polled at this interval */
#define AWAKE_NS   250000000ull

void interval_init(struct interval *i)
{
	*i = (struct interval){.lap_ns = 16 * INTERVAL_MIN_NS};
}

/*
 * The time in which the fastest ring fills by a sixteenth. A burst shortens the interval at once,
 * its end lengthens it only in steps, so that a bursty program is polled often. On a busy machine a
 * thread that waits gets a CPU late: after a ring was found filled by a quarter, we do not wait for
 * some time.
 */
uint64_t interval_ns(struct interval *i, struct ring_source *rings, uint64_t now)
{
	struct ring_pace pace;
	ring_source_pace(rings, &pace);
	if (pace.lap_ns > 2 * i->lap_ns)
		pace.lap_ns = 2 * i->lap_ns;
	i->lap_ns = pace.lap_ns < LAP_MAX_NS ? pace.lap_ns : LAP_MAX_NS;
	if (pace.fill > 0.25)
		i->awake_until_ns = now + AWAKE_NS;
	if (now < i->awake_until_ns)
		return 0;
	if (i->lap_ns == LAP_MAX_NS && pace.rest_ns > MAX_NS)
		return pace.rest_ns;
	return i->lap_ns / 16 > INTERVAL_MIN_NS ? i->lap_ns / 16 : INTERVAL_MIN_NS;
}
