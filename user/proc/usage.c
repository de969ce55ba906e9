/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proc/process.h"

#define KERNEL_EXITING 0x4 /* PF_EXITING of the kernel's <linux/sched.h> */

static uint64_t tick_ns(void)
{
	long per_s = sysconf(_SC_CLK_TCK);
	return 1000000000u / (uint64_t)(per_s > 0 ? per_s : 100);
}

static uint64_t ticks_ns(uint64_t ticks)
{
	return ticks * tick_ns();
}

uint64_t usage_whole_ticks_ns(uint64_t ns)
{
	return ns - ns % tick_ns();
}

/* The kernel's CPU clock of the process is exact; user and system are counted in ticks. */
static void make_exact(pid_t pid, struct usage *u)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return;
	uint64_t total = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	uint64_t ticks = u->user_ns + u->system_ns;
	double share = ticks ? (double)u->user_ns / (double)ticks : 1;
	u->user_ns = (uint64_t)((double)total * share);
	u->system_ns = total > u->user_ns ? total - u->user_ns : 0;
}

int usage_read(pid_t pid, struct usage *ret)
{
	char text[4096];
	struct usage u = {0};
	ssize_t n = process_read_text(pid, "stat", text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	/* Fields count from behind the name, which may hold anything: 3 is the state. */
	const char *p = strrchr(text, ')');
	uint64_t user, system, start;
	unsigned flags;
	if (!p || sscanf(p + 1,
			 " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			 " %*d %*d %*d %*d %*d %*d %" SCNu64,
			 &flags, &user, &system, &start) != 4)
		return -EBADMSG;
	u.user_ns = ticks_ns(user);
	u.system_ns = ticks_ns(system);
	make_exact(pid, &u);
	u.start_boot_ns = ticks_ns(start);
	u.exiting = flags & KERNEL_EXITING;
	if (process_read_text(pid, "status", text, sizeof(text)) > 0 &&
	    (p = strstr(text, "\nVmHWM:"))) {
		u.peak_rss_bytes = strtoull(p + 7, NULL, 10) * 1024;
		u.has_peak_rss = true;
	}
	*ret = u;
	return 0;
}
