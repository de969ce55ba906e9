/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/realtime.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/clock.h"

#define REST_NS 1000000000ull

static int set(struct realtime *r, bool active)
{
	struct sched_param p = {.sched_priority = active ? sched_get_priority_min(SCHED_FIFO) : 0};
	if (sched_setscheduler(0, (active ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK, &p))
		return -errno;
	r->active = active;
	return 0;
}

static void open_window(struct realtime *r, uint64_t now_ns)
{
	r->window_ns = now_ns;
	r->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int realtime_begin(struct realtime *r)
{
	*r = (struct realtime){0};
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return -errno;
	if (CPU_COUNT(&cpus) < 2)
		return -ENOTSUP;
	/* A policy with which ebtrace was started is kept. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return -EBUSY;
	int err = set(r, true);
	r->wanted = !err;
	if (!err)
		open_window(r, now_ns());
	return err;
}

void realtime_check(struct realtime *r, uint64_t now_ns)
{
	if (!r->wanted || now_ns - r->window_ns < REALTIME_CHECK_NS / 2)
		return;
	if (!r->active) {
		if (now_ns < r->rest_until_ns)
			return;
		set(r, true);
	} else if (clock_ns(CLOCK_THREAD_CPUTIME_ID) - r->cpu_ns > (now_ns - r->window_ns) / 2) {
		r->rest_until_ns = now_ns + REST_NS;
		set(r, false);
	}
	open_window(r, now_ns);
}

void realtime_end(struct realtime *r)
{
	if (r->active)
		set(r, false);
	r->wanted = false;
}
