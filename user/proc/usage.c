/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

uint64_t usage_start_ns(const struct process_stat *stat)
{
	return ticks_ns(stat->start_ticks);
}

uint64_t usage_waited_ns(const struct process_stat *stat)
{
	return ticks_ns(stat->waited_ticks);
}

void usage_of(pid_t pid, const struct process_stat *stat, struct usage *ret)
{
	struct usage u = {.user_ns = ticks_ns(stat->user_ticks),
			  .system_ns = ticks_ns(stat->system_ticks),
			  .start_boot_ns = usage_start_ns(stat),
			  .exiting = stat->flags & KERNEL_EXITING};
	make_exact(pid, &u);
	*ret = u;
}

int usage_read(pid_t pid, struct usage *ret)
{
	char text[4096];
	const char *p;
	struct process_stat stat;
	int err = process_read_stat(pid, &stat);
	if (err)
		return err;
	usage_of(pid, &stat, ret);
	/* One that is exiting may have given its memory back. */
	if (stat.state != 'Z' && process_read_text(pid, "status", text, sizeof(text)) > 0 &&
	    (p = strstr(text, "\nVmHWM:"))) {
		ret->peak_rss_bytes = strtoull(p + 7, NULL, 10) * 1024;
		ret->has_peak_rss = true;
	}
	return 0;
}
