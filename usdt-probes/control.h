/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a recording: start, pause, resume, stop, and what fork and exit do to it.
 *
 * One lock serialises all of it, and the registry of user events. Probes never wait for it: one
 * that finds a tracer's wish for a ring only tries to take it.
 */
#ifndef EBT_CONTROL_H
#define EBT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "ring_file.h"

enum ebt_lifecycle {
#define EBT_LIFECYCLE_ID(id, name, help) EBT_LIFECYCLE_##name = id,
#include <ebtrace/events.def>
};

void ebt_lock(void);
void ebt_unlock(void);
/* The file that is being recorded. Its pages may be touched by visitors that have seen the gate
 * open, and under the lock. */
struct ebt_file *ebt_current_file(void);
/* A lifecycle event of the calling thread, by the same way as any probe; in probes.c. */
void ebt_emit_lifecycle(uint32_t id, int64_t data);
/* From a probe: a tracer listens to ring_request and there is no ring. */
void ebt_control_requested(void);
/* From a probe: this process is a child that fork handlers were not run for, or not to the end. */
void ebt_control_forked(void);

#endif
