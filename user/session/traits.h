/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the runtime that emits the events of a process, as data. Each language_*.c has
 * the data of a language; sources give a process the traits of its version; models and sinks read
 * them, and never the texts that name a producer. Zeroed memory: nothing is known.
 */
#ifndef SESSION_TRAITS_H
#define SESSION_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

/* Which mutators a phase stops. */
enum traits_stop {
	TRAITS_RUNS,	      /* none */
	TRAITS_STOPS,	      /* that of its domain, or of its thread where there are none */
	TRAITS_STOPS_PROCESS, /* those of all threads of the process */
};

/* What reports count a phase as. A set. */
enum traits_role {
	/* Collections: each phase is one, or a domain's part in one. */
	TRAITS_MINOR = 1,	/* a minor one of its domain */
	TRAITS_CYCLE = 2,	/* all domains together end a cycle of the major one */
	TRAITS_COMPACTION = 4,	/* of all domains together */
	TRAITS_MINOR_ONCE = 8,	/* in a minor one of all domains, by one of them */
	TRAITS_SLICE = 16,	/* a part of a major one: with any, cycles are counted */
	TRAITS_MAJOR = 32,	/* a major one, of programs without slices and cycles */
	TRAITS_MAJOR_WORK = 64, /* marks or sweeps the major heap */
	/* Calls of the program. */
	TRAITS_FORCED_MINOR = 128,
	TRAITS_FORCED_MAJOR = 256,
	TRAITS_FORCED_COMPACTION = 512,
};
#define TRAITS_COLLECTIONS (TRAITS_MINOR | TRAITS_CYCLE | TRAITS_COMPACTION)

#define TRAITS_BARRIERS 2

struct traits_phase {
	const char *name;
	uint16_t roles; /* of enum traits_role */
	uint8_t stop;	/* enum traits_stop */
	/* All participants begin the phase when they arrive, and none leaves it before the last one
	 * has arrived: which barrier of the language, from 1 to TRAITS_BARRIERS; 0: it is none. */
	uint8_t barrier;
	uint8_t cycles; /* of the major collection, which a TRAITS_FORCED_MAJOR runs to the end */
};

/* Phases by canonical id, from `first` on. */
struct traits_phases {
	uint32_t first, count;
	const struct traits_phase *phase;
};

/* How the code of a language is recognised in stacks. Lists end with NULL. */
struct traits_frames {
	/* The extension of source files, ".ml"; NULL: functions are not recognised by file. */
	const char *source;
	const char *library; /* what the names of its standard library's functions begin with */
	/* What its code calls for a phase, by canonical id up to before `calls`; NULL: nothing. */
	const char *const *call;
	uint32_t calls;
	/* Globs: wrappers: functions of its standard library, which allocate for their caller;
	 * of_users: functions among them that contain code of the user's. May be NULL. */
	const char *const *wrappers, *const *of_users;
};

/* What holds of a language's runtime in every version. Static and constant. */
struct traits_language {
	const char *name; /* "ebtrace-probes" */
	/* What makes the minor heap larger, and major collections less frequent; NULL: nothing
	 * does. */
	const char *minor_heap_setting, *major_pace_setting;
	/* Of a recording with periodic samples of its allocations: why none may be in it, and how
	 * places are sampled. NULL: it has no such samples. */
	const char *no_samples, *periodic;
	struct traits_phases phases;
	const struct traits_frames *frames; /* NULL: none are recognised */
	bool has_markers;		    /* its programs have USDT markers of provider ebtrace */
	/* its heap counters are of one domain's part; false: of the whole */
	bool heap_is_by_domain;
	bool minor_is_shared; /* all domains take part in each minor collection */
};

/* A language's runtime in one version. Zeroed memory: it is not known. */
struct runtime_version {
	const struct traits_language *language;
	uint16_t major, minor; /* 0.0: versions of the language do not differ */
};

static inline bool runtime_version_is(struct runtime_version a, struct runtime_version b)
{
	return a.language == b.language && a.major == b.major && a.minor == b.minor;
}

struct traits {
	struct runtime_version runtime;
	bool hides_user_events; /* only its ring has them: they cannot be probed */
	bool nameless_rings;	/* its rings have no place for the names of user events */
	/* Its own number of each canonical phase id; NULL: they are the same. Static. */
	const uint16_t *raw_phase;
	uint32_t raw_phases;
};

#endif
