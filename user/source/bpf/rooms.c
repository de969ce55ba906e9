// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/rooms.h"

#include <sys/sysinfo.h>

/* 13 kB each. */
#define ROOMS	  1024
#define ROOMS_MAX 8192

/* Of all processes, for as many threads as there are now, and as many more. */
uint32_t bpf_rooms(const struct probe_plan *plan)
{
	struct sysinfo of;
	if (!plan->offcpu_stacks)
		return 0;
	uint32_t n = plan->everyone && !sysinfo(&of) ? 2u * of.procs : ROOMS;
	return n < ROOMS ? ROOMS : n > ROOMS_MAX ? ROOMS_MAX : n;
}
