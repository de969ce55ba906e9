/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's own clock_gettime(), mapped into every process. A direct call saves libc's wrapper
 * and the linkage table in front of it. It has the arguments of clock_gettime(), and makes a system
 * call only when that would; it returns errors and does not set errno.
 */
#ifndef EBT_VDSO_H
#define EBT_VDSO_H

#include <time.h>

typedef int ebt_gettime_fn(clockid_t clock, struct timespec *ret);

/* NULL: the kernel mapped none, or one that we cannot parse. */
ebt_gettime_fn *ebt_vdso_gettime(void);

#endif
