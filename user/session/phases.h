/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phases of all languages by id: the phases of events.def, with canonical ids, and those that
 * languages have of their own. And the rows of the arrays in which reports keep numbers of phases:
 * one for each phase of events.def, then those of languages, and a last one for all phases that no
 * table has. Such a phase counts as one that stops the mutator, and reports mark it.
 *
 * A pause is an outermost phase that stops the mutator. What these are in each version of a runtime
 * is written beside its row.
 */
#ifndef SESSION_PHASES_H
#define SESSION_PHASES_H

#include "session/canonical_phases.h"

#define PHASES_OTHER 32 /* rows for phases that are not canonical; further ones have no row */
enum { PHASES_UNKNOWN = PHASES + PHASES_OTHER, PHASE_ROWS };

extern const struct traits_phase phases_unknown;

/* Of an id that is not canonical. phases_find_other: NULL: no table has it. */
__attribute__((cold)) const struct traits_phase *phases_find_other(uint32_t id);
__attribute__((cold)) uint32_t phases_row_of_other(uint32_t id);
/* Of a row behind those of canonical ids. */
__attribute__((cold)) const struct traits_phase *phases_at_other(uint32_t row);
/* The next id above `id` that some table has, UINT32_MAX for the first one. False: none. */
bool phases_next(uint32_t *id);

/* NULL: no table has it. */
static inline const struct traits_phase *phases_find(uint32_t id)
{
	return id < PHASES ? &canonical_phases[id] : phases_find_other(id);
}

/* The row of an id. */
static inline uint32_t phases_row(uint32_t id)
{
	return id < PHASES ? id : phases_row_of_other(id);
}

/* The phase of a row; of one that no phase has, an unknown one. */
static inline const struct traits_phase *phases_at(uint32_t row)
{
	return row < PHASES ? &canonical_phases[row] : phases_at_other(row);
}

/* Name of a row; "unknown" for PHASES_UNKNOWN. Static. */
static inline const char *phases_name(uint32_t row)
{
	return phases_at(row)->name;
}

/* Whether the mutator of the domain does not run in the phases of a row. */
static inline bool phases_stop(uint32_t row)
{
	return phases_at(row)->stop != TRAITS_RUNS;
}

#endif
