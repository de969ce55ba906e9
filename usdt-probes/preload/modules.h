/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program and the shared libraries that are, or were, mapped: makes the code of a frame of an
 * address, and the position of a code (<ebtrace/recorder.h>). A module is found by an address in it
 * and read in memory, without the dynamic linker's lock: whoever holds that may wait for a thread
 * that allocates. All functions are called with the recorder's lock, which the positions of
 * module_positions.h do without; they know fewer modules.
 */
#ifndef EBT_MODULES_H
#define EBT_MODULES_H

#include <ebtrace/memtrace.h>
#include <stdbool.h>

/* Makes codes, in place, of addresses on the calling thread's stack. True: where a module is now,
 * another one was before. */
bool ebt_modules_codes(int64_t *frame, size_t frames);
/* What is needed of the kernel, before a process confines itself. */
void ebt_modules_prepare(void);
/* For struct ebt_memtrace_trace. */
size_t ebt_modules_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret);

#endif
