/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's own clock_gettime(), mapped into every process. Called directly it spares a probe
 * libc's wrapper and the linkage table in front of it. It takes what clock_gettime() takes, and
 * makes a system call only where that would; on an error it returns it and leaves errno alone.
 */
#ifndef EBT_VDSO_H
#define EBT_VDSO_H

#include <time.h>

typedef int ebt_gettime_fn(clockid_t clock, struct timespec *ret);

/* NULL: the kernel has mapped none, or one that we cannot read. */
ebt_gettime_fn *ebt_vdso_gettime(void);

#endif
