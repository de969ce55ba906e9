/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows that numbers of phases are kept in: one for each phase of events.def, and one for all
 * others. events.def also says which phases stop the mutator of their domain. The outermost of
 * those differ by release, from the sources of OCaml 5.0 to 5.5:
 *
 *   5.0 - 5.3  stw_leader (the domain that requests a minor collection or the end of a cycle),
 *              interrupt_remote around stw_handler (the others, at a poll point), stw_handler alone
 *              (the others, by their backup thread while they block: their mutator could not
 *              continue), major (a slice), explicit_gc_* (Gc.minor and the like, with the
 *              finalisers they run), major_finish_marking and _sweeping (a domain that ends)
 *   5.4, 5.5   the same; a minor collection that the domain requests is in empty_minor, which
 *              also holds the wait for another domain that leads
 *
 * Ids are canonical (events.def), so one table serves all releases. A phase that is in no table
 * counts as one that stops, and the report marks it. Programs with our own probes mean the same by
 * the same names.
 */
#ifndef REPORT_PARTS_PHASES_H
#define REPORT_PARTS_PHASES_H

#include "report/parts/ids.h"
#include "session/kinds.h"

/* The row of a canonical id; PHASES: that of all phases that are in no table. */
static inline uint32_t phases_row(uint32_t id)
{
	return id < PHASES ? id : PHASES;
}

/* Name of a row; "unknown" for PHASES. Static. */
static inline const char *phases_name(uint32_t row)
{
	return row < PHASES ? kinds_phase_name(row) : "unknown";
}

/* What the phases of a row do beyond passing time. */
enum phases_role {
	PHASES_STOP = 1,       /* the mutator of the domain stands still */
	PHASES_COLLECTION = 2, /* each is one collection, or a domain's part in it */
};

/* A set of enum phases_role. */
static inline unsigned phases_roles(uint32_t row)
{
	enum { runs = 0, stops = PHASES_STOP };
	static const uint8_t of_row[PHASES + 1] = {
#define EBT_PHASE(id, name, mutator)                                                              \
	[id] = mutator | (id == PHASE_minor || id == PHASE_major_gc_stw || id == PHASE_compaction \
				  ? PHASES_COLLECTION                                             \
				  : 0),
#include <ebtrace/events.def>
		[PHASES] = stops};
	return of_row[row];
}

/* Whether the mutator of the domain stands still in the phases of a row. */
static inline bool phases_stop(uint32_t row)
{
	return phases_roles(row) & PHASES_STOP;
}

#endif
