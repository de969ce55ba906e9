/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the reports group phases by. Which of them stop the mutator of their domain is in events.def.
 * What is outermost of those differs by release, from the sources of OCaml 5.0 to 5.5:
 *
 *   5.0 - 5.3  stw_leader (the domain that asks for a minor collection or the end of a cycle),
 *              interrupt_remote around stw_handler (the others, at a poll point), stw_handler alone
 *              (the others, by their backup thread while they block: they could not go on if they
 *              came back), major (a slice), explicit_gc_* (Gc.minor and the like, with the
 *              finalisers they run), major_finish_marking and _sweeping (a domain that ends)
 *   5.4, 5.5   the same; a minor collection that the domain asks for is in empty_minor, which
 *              also holds the wait for another domain that leads
 *
 * The phases are one family by canonical ids (events.def); a phase that a release does not have
 * does not come. A phase that is in no table is taken as one that stops, and the report says so.
 * Programs with our own probes mean what they say by the same names.
 */
#ifndef SINK_STAT_PHASES_H
#define SINK_STAT_PHASES_H

#include "core/kinds.h"

enum stat_phase_id {
#define EBT_PHASE(id, name, stops) STAT_PHASE_##name = id,
#include <ebtrace/events.def>
	STAT_PHASES, /* also the index of all phases that are in no table */
};

static inline uint32_t stat_phase_index(uint32_t id)
{
	return id < STAT_PHASES ? id : STAT_PHASES;
}

/* Name of an index; "unknown" for STAT_PHASES. Static. */
static inline const char *stat_phase_name(uint32_t index)
{
	return index < STAT_PHASES ? kinds_phase_name(index) : "unknown";
}

#endif
