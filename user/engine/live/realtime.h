/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real-time scheduling of the thread that reads live rings: a ring at 5 million events a second
 * wraps within 7 ms, and a thread of the ordinary class waits that long for a CPU that others keep
 * busy. The lowest real-time priority is enough. It is reset on fork, so nothing that we start
 * inherits it, and it is suspended for a second whenever the thread has used more than half a CPU
 * over a tenth of a second: then the thread is busy, not waiting, and the traced program needs the
 * CPU, too.
 *
 * One thread uses it: the one that calls realtime_begin().
 */
#ifndef ENGINE_LIVE_REALTIME_H
#define ENGINE_LIVE_REALTIME_H

#include <stdbool.h>
#include <stdint.h>

#define REALTIME_CHECK_NS 100000000u /* how often realtime_check() is to be called */

struct realtime {
	bool wanted, active;
	uint64_t window_ns, cpu_ns; /* begin of the window, and CPU time of the thread then */
	uint64_t rest_until_ns;
};

/*
 * 0; -EPERM: not permitted (CAP_SYS_NICE or RLIMIT_RTPRIO); -ENOTSUP: the thread may run on one CPU
 * only, and would starve the traced program; -EBUSY: it has a policy of its own; else -errno. On
 * failure nothing has changed, and the other functions do nothing.
 */
int realtime_begin(struct realtime *r);
/* Suspends or resumes real-time scheduling. now_ns: CLOCK_MONOTONIC. */
void realtime_check(struct realtime *r, uint64_t now_ns);
/* Restores ordinary scheduling. */
void realtime_end(struct realtime *r);

#endif
