/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/canonical_phases.h"

enum {
#define EBT_PHASE(id, name, stops) PHASE_##name = id,
#include <ebtrace/events.def>
};

enum { STOP_runs = TRAITS_RUNS, STOP_stops = TRAITS_STOPS };

const struct traits_phase canonical_phases[PHASES] = {
#define EBT_PHASE(id, phase, mutator) [id].name = #phase, [id].stop = STOP_##mutator,
#include <ebtrace/events.def>
	[PHASE_minor].roles = TRAITS_MINOR,
	[PHASE_minor_global_roots].roles = TRAITS_MINOR_ONCE,
	[PHASE_major].roles = TRAITS_MAJOR,
	[PHASE_major_slice].roles = TRAITS_SLICE,
	[PHASE_major_gc_stw].roles = TRAITS_CYCLE,
	[PHASE_compaction].roles = TRAITS_COMPACTION,
	[PHASE_major_sweep].roles = TRAITS_MAJOR_WORK,
	[PHASE_major_mark].roles = TRAITS_MAJOR_WORK,
	[PHASE_major_mark_roots].roles = TRAITS_MAJOR_WORK,
	[PHASE_major_ephe_mark].roles = TRAITS_MAJOR_WORK,
	[PHASE_major_ephe_sweep].roles = TRAITS_MAJOR_WORK,
	[PHASE_stw_api_barrier].barrier = 1,
	[PHASE_minor_leave_barrier].barrier = 2,
	[PHASE_explicit_gc_minor].roles = TRAITS_FORCED_MINOR,
	[PHASE_explicit_gc_major].roles = TRAITS_FORCED_MAJOR,
	[PHASE_explicit_gc_major].cycles = 1,
	[PHASE_explicit_gc_full_major].roles = TRAITS_FORCED_MAJOR,
	[PHASE_explicit_gc_full_major].cycles = 3,
	[PHASE_explicit_gc_compact].roles = TRAITS_FORCED_MAJOR | TRAITS_FORCED_COMPACTION,
	[PHASE_explicit_gc_compact].cycles = 3,
};
