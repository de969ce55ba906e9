/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of the runtime whose events a process emits, as data. Sources fill it in; models and
 * sinks ask it, and never the texts that name a producer. Zeroed memory: nothing is known.
 */
#ifndef CORE_TRAITS_H
#define CORE_TRAITS_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>

enum traits_language {
	TRAITS_UNKNOWN = 0,
	TRAITS_OCAML = 1,
	TRAITS_OTHER = 2, /* a program that emits its events through libebtrace-probes */
};

struct traits {
	enum traits_language language;
	bool has_version;
	uint16_t major, minor;	  /* of the language's runtime */
	enum ebt_release release; /* whose ids it uses; AUTO: not known */
	/* Its own number of each canonical phase id; NULL: they are the same. Static. */
	const uint16_t *raw_phase;
	uint32_t raw_phases;
};

/* Whether it is known to be of the language, in this version or a later one. */
static inline bool traits_is(const struct traits *t, enum traits_language language, unsigned major,
			     unsigned minor)
{
	return t->language == language && t->has_version &&
	       (t->major > major || (t->major == major && t->minor >= minor));
}

#endif
