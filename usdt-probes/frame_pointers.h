/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calling thread's return addresses, by frame pointers. Code without them ends the backtrace, or
 * skips a frame; it never faults: memory that is not known to be mapped is tested first, at the
 * price of a system call for each new page of the stack.
 */
#ifndef EBT_FRAME_POINTERS_H
#define EBT_FRAME_POINTERS_H

#include <stddef.h>
#include <stdint.h>

/* Writes at most `max` addresses, outermost first, of the callers of the frame at `fp`; the innermost
 * ones if there are more. Returns their number. */
size_t ebt_frame_pointers(const void *fp, int64_t *addresses, size_t max);

#endif
