/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes of processes of a run that could not make their rings, for want of memory or of space
 * (<ebtrace/ring.h>). They are in the directory of the rings, which others may write to.
 */
#ifndef ENGINE_LIVE_RING_NOTES_H
#define ENGINE_LIVE_RING_NOTES_H

#include "base/messages.h"

struct inbox;

/* Reports the processes that left notes there, in one line, and removes the notes. How many. */
unsigned ring_notes_report(const struct inbox *in, const struct messages *r);

#endif
