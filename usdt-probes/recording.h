/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recording: its ring file and its state; start, pause, resume, stop (<ebtrace/probes.h>).
 *
 * The lock serialises all of it, and the registry of user events. Probes do not wait for it, except
 * the first one of a forked child: one that finds a tracer's wish for a ring only tries to take it.
 */
#ifndef EBT_RECORDING_H
#define EBT_RECORDING_H

#include <stdbool.h>

#include "ring_file.h"

/* Reads the settings; before anything else. */
void ebt_recording_init(void);
/* Takes the lock, in a child that nobody has told so after ebt_recording_forked(). Given back by
 * ebt_unlock(). */
void ebt_recording_lock(void);
/* The file that is being recorded. Its pages may be touched by visitors that have seen the gate
 * open, and under the lock. */
struct ebt_file *ebt_current_file(void);
/* From a probe: a tracer listens to ring_request and there is no ring. */
void ebt_recording_requested(void);
/*
 * This process is a child: it lets go of its parent's ring, and if the parent recorded it will too
 * from its first probe on; most children only exec(). `inside`: what was interrupted by the signal
 * handler that forked may be about to touch the file; it gets private memory in its place.
 */
void ebt_recording_forked(bool inside);
/* From a probe: the first one of such a child starts its recording. */
void ebt_recording_child_probes(void);
/* The program ends, or unloads the library. */
void ebt_recording_exit(void);

#endif
