/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the runtime whose events a process emits, as data. runtime/ has a row for each
 * language; sources give a process the traits of its release; models and sinks read them, and never
 * the texts that name a producer. Zeroed memory: nothing is known.
 */
#ifndef SESSION_TRAITS_H
#define SESSION_TRAITS_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>

/* What holds of a language's runtime in every version. Static and constant. */
struct traits_language {
	const char *name; /* "ocaml" */
	/* The environment variable for the size of a program's rings, up to the number: log2 of words. */
	const char *larger_ring;
	/* What makes the minor heap larger, and major collections less frequent; NULL: nothing does. */
	const char *minor_heap_setting, *major_pace_setting;
	bool has_markers;	/* its programs have USDT markers of provider ebtrace */
	bool heap_is_by_domain; /* its heap counters are of one domain's part; false: of the whole */
	bool minor_is_shared;	/* all domains take part in each minor collection */
};

/* Canonical ids from `first` to before `end`. */
struct traits_ids {
	uint32_t first, end;
};

struct traits {
	const struct traits_language *language; /* NULL: not known */
	bool has_version;
	uint16_t major, minor;	  /* of the language's runtime */
	enum ebt_release release; /* whose ids it uses; AUTO: not known */
	/* The phases and counters that this version may emit; events.def has their names, their
	 * units, and which phases stop the mutator. */
	struct traits_ids phases, counters;
	bool hides_user_events; /* only its ring has them: they cannot be probed */
	/* Its own number of each canonical phase id; NULL: they are the same. Static. */
	const uint16_t *raw_phase;
	uint32_t raw_phases;
};

static inline bool traits_ids_have(struct traits_ids ids, uint32_t id)
{
	return id >= ids.first && id < ids.end;
}

#endif
