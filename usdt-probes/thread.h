/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread's life as a domain: it gets a slot at its first probe and releases it at its end; both
 * are events in its ring.
 */
#ifndef EBT_THREAD_H
#define EBT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "ring_file.h"

void ebt_threads_init(void);
/* After this no thread's end calls into a library that may be unmapped. */
void ebt_threads_done(void);
/*
 * Assigns the calling thread a ring of `file`, whose state word is `state`. The caller is a visitor
 * or holds the lock. With `spawn`, a thread that had no slot writes domain_spawn. False: no ring.
 */
bool ebt_thread_bind(const struct ebt_file *file, uint32_t state, bool spawn);

#endif
