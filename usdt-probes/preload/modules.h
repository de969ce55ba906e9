/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program and the shared libraries that are, or were, mapped: makes the code of a frame of an
 * address, and the position of a code (<ebtrace/recorder.h>). A snapshot of the dynamic linker's
 * list is made whenever that has changed. It needs the linker's lock, which others hold while they
 * allocate, so it is made without the recorder's lock and stored with it.
 */
#ifndef EBT_MODULES_H
#define EBT_MODULES_H

#include <ebtrace/memtrace.h>

struct ebt_modules_snapshot;

/* Without the recorder's lock. NULL: nothing has changed since the snapshot that was stored last,
 * or there is no memory. */
struct ebt_modules_snapshot *ebt_modules_snapshot(void);
/* With the lock; releases it. NULL is allowed. */
void ebt_modules_store(struct ebt_modules_snapshot *s);
/* With the lock: makes codes of addresses, in place. */
void ebt_modules_codes(int64_t *frame, size_t frames);
/* With the lock; for struct ebt_memtrace_trace. */
size_t ebt_modules_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret);

#endif
