/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a recording: start, pause, resume, stop, and what fork and exit do to it.
 *
 * One lock serialises all of it, and the registry of user events. Its holder has the signals that
 * come from outside blocked, so that no handler can fork, exit or probe in the middle of it. Probes
 * do not wait for it, but for the first one of a forked child: one that finds a tracer's wish for
 * a ring only tries to take it.
 */
#ifndef EBT_CONTROL_H
#define EBT_CONTROL_H

#include <signal.h>
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
/*
 * This process is a child: it lets go of its parent's ring, and if the parent recorded it will too
 * from its first probe on; most children only exec(). `inside`: what was interrupted by the signal
 * handler that forked may be about to touch the file; it gets private memory in its place.
 */
void ebt_control_forked(bool inside);
/* From a probe: the first one of such a child starts its recording. */
void ebt_control_child_probes(void);
/* Around a piece of code that no signal handler may interrupt. */
void ebt_signals_block(sigset_t *ret_mask);
void ebt_signals_restore(const sigset_t *mask);

#endif
