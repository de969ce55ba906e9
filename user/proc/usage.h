/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resources that a process has used so far: CPU time of its own threads (the kernel divides it
 * into user and system in ticks, mostly of 10 ms), and its peak resident memory, which cannot be
 * read once it has ended.
 */
#ifndef PROC_USAGE_H
#define PROC_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/process.h"

struct usage {
	uint64_t user_ns, system_ns;
	uint64_t start_boot_ns; /* when it began, on CLOCK_BOOTTIME */
	uint64_t peak_rss_bytes;
	bool has_peak_rss;
	bool exiting; /* it is exiting, or a zombie */
};

/* The whole ticks in a time: /proc has the starts of processes in these. */
uint64_t usage_whole_ticks_ns(uint64_t ns);

/* Also of a zombie. 0, or -errno: -ESRCH, -EBADMSG. */
int usage_read(pid_t pid, struct usage *ret);
/* When a process began, on CLOCK_BOOTTIME. */
uint64_t usage_start_ns(const struct process_stat *stat);
/* The CPU time of children that it has waited for, and of theirs. */
uint64_t usage_waited_ns(const struct process_stat *stat);
/* The usage of a process without its peak memory. stat: of the process, just read. */
void usage_of(pid_t pid, const struct process_stat *stat, struct usage *ret);

#endif
