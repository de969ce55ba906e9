/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The seccomp filters that the process is under without having asked the recorder (confined.h):
 * those that whoever started it had set, or that a system call without libc did. They may kill it
 * for a system call that it does not make itself, so only the ones that the dynamic linker makes in
 * each program are used to ask: open, read, close.
 */
#ifndef EBT_FILTERS_H
#define EBT_FILTERS_H

#include <limits.h>

/* Their number; UINT_MAX: all but a few system calls are forbidden. 0 where /proc does not say. */
unsigned ebt_filters_read(void);

#endif
