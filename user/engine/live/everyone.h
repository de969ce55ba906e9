/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -a: finds the processes of the machine that can be traced, now and when they come: those that have
 * a ring, or code with markers or a runtime. What is found is traced (traced_add_found()); the tracer,
 * its workers and threads of the kernel are not.
 *
 * /proc is listed at each pass. A process is read when it is new, has called exec, or its address
 * space has another size, which is asked often in its first second and then once a second: one that
 * maps such code late is found late.
 */
#ifndef ENGINE_LIVE_EVERYONE_H
#define ENGINE_LIVE_EVERYONE_H

#include "engine/live/traced.h"
#include "runtime/inspect.h"

struct everyone;

/* privileged: new processes are looked for every 50 ms, else twice a second. A pass that takes long
 * makes the next one late: it needs 5 % of a CPU at most. 0 or -ENOMEM. */
int everyone_new(const struct engine *e, struct traced *t, struct inspect *inspect, bool privileged,
		 struct everyone **ret);
void everyone_free(struct everyone *e); /* NULL is allowed */
/* A process that is not traced has begun another program at ts: the next scans read it. */
void everyone_executed(struct everyone *e, pid_t pid, uint64_t ts);
/* Makes a pass if one is due; NULL is allowed. What the first one finds was there before the run. 0
 * or -errno. */
int everyone_scan(struct everyone *e);

#endif
