/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -a: finds the processes of the machine that can be traced, those that run and those that start
 * later: they have a ring, or code with markers or a runtime. The processes that are found are
 * traced; the tracer, its workers and kernel threads are not. One that is not traced and has begun
 * another program (PROCESS_EXECED) is read by the next scans.
 *
 * /proc is listed at each pass, or, where the options are frugal, if the kernel has given a number
 * to a new process or thread since the pass before, and once a second. A process is read when it is
 * new, has called exec, or its address
 * space has changed in size. The size is read at each pass in its first second and then once a
 * second: a process that maps such code late is found late.
 */
#ifndef ENGINE_LIVE_EVERYONE_H
#define ENGINE_LIVE_EVERYONE_H

#include "engine/live/traced.h"
#include "runtime/inspect.h"

struct everyone;

/* Subscribes to the events of `t`. privileged: a pass is due every 50 ms, else every 500 ms. A pass
 * that takes long delays the next one, so that passes use 5 % of a CPU at most. 0 or -ENOMEM. */
int everyone_new(const struct engine *e, struct traced *t, struct inspect *inspect, bool privileged,
		 struct everyone **ret);
void everyone_free(struct everyone *e); /* NULL is allowed */
/* Makes a pass if one is due; NULL is allowed. What the first one finds was there before the run. 0
 * or -errno. */
int everyone_scan(struct everyone *e);

#endif
