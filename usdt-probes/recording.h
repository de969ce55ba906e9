/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recording: its ring file and its state; start, pause, resume, stop (<ebtrace/probes.h>).
 *
 * The lock serialises all of it, and the registry of user events. Probes do not wait for the lock,
 * except the first one of a forked child; a probe that finds a tracer's request for a ring only
 * tries it.
 */
#ifndef EBT_RECORDING_H
#define EBT_RECORDING_H

#include <stdbool.h>

#include "ring_file.h"

/* Reads the settings. Called first. */
void ebt_recording_init(void);
/* Acquires the lock; in a child that has not noticed its fork, after ebt_recording_forked().
 * Released by ebt_unlock(). */
void ebt_recording_lock(void);
/* The file being recorded. Its pages may be accessed by visitors that have seen the gate open, and
 * under the lock. */
struct ebt_file *ebt_current_file(void);
/* From a probe: a tracer has attached to ring_request and there is no ring. */
void ebt_recording_requested(void);
/*
 * This process is a forked child: releases its parent's ring, and, if the parent recorded, records
 * from its first probe on; most children only exec(). inside: the fork came from a signal handler
 * that interrupted a probe, which may still access the file; private memory replaces it.
 */
void ebt_recording_forked(bool inside);
/* From the first probe of such a child: starts its recording. */
void ebt_recording_child_probes(void);
/* The program ends, or unloads the library. */
void ebt_recording_exit(void);

#endif
