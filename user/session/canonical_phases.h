/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phases of events.def by canonical id, which has no gaps: their names, and what they are. All
 * languages with canonical ids share them, and they mean the same in each.
 */
#ifndef SESSION_CANONICAL_PHASES_H
#define SESSION_CANONICAL_PHASES_H

#include "session/traits.h"

enum {
	PHASES = 0 /* their number */
#define EBT_PHASE(id, name, stops) +1
#include <ebtrace/events.def>
};

/* Ids from this on are of languages with phases of their own. */
#define PHASES_OWN 64
_Static_assert(PHASES <= PHASES_OWN, "canonical ids end where those of other languages begin");

extern const struct traits_phase canonical_phases[PHASES];

#endif
