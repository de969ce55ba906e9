/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that led to an allocation. The stack is unwound by the compiler's tables (.eh_frame),
 * which Debian's libraries and programs have; most of them have no frame pointers, and a chain of
 * those silently skips the callers of functions without. Where there is no table, as in code that
 * is compiled at run time, the chain of frame pointers is followed as far as it stays in the stack
 * and moves towards its end. Takes no lock and allocates nothing.
 */
#ifndef EBT_BACKTRACE_H
#define EBT_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

/* Of a longer stack the outermost frames are missing. All of them fit a memtrace event. */
#define EBT_BACKTRACE_MAX 400

/*
 * Stores the addresses of the calls, the outermost first; the innermost is the one that returns to
 * `caller`. Returns their number, at most EBT_BACKTRACE_MAX.
 */
size_t ebt_backtrace(const void *caller, int64_t ret[EBT_BACKTRACE_MAX]);

#endif
