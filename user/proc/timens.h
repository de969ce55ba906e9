/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time namespaces: in one, CLOCK_MONOTONIC and CLOCK_BOOTTIME have offsets to the kernel's own
 * clocks, which are those of the initial time namespace. So have the times that a process in it
 * takes itself.
 */
#ifndef PROC_TIMENS_H
#define PROC_TIMENS_H

#include <stdint.h>
#include <sys/types.h>

/* By how much the clocks of a process are ahead of the kernel's own. */
struct timens {
	int64_t monotonic_ns, boottime_ns;
};

/* 0; -ENODATA: it has ended, or is in another namespace than its children and ours: /proc has the
 * offsets of the children's namespace only; or -errno. */
int timens_read(pid_t pid, struct timens *ret);
/* Those of the caller; 0 if they cannot be read, as where the kernel has no time namespaces. */
struct timens timens_own(void);

#endif
