/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The runtime reads the second variable only where the first one is not set, not even to nothing. */
static const char *ocaml_variable(void)
{
	bool second = !getenv("OCAMLRUNPARAM") && getenv("CAMLRUNPARAM");
	return second ? "CAMLRUNPARAM" : "OCAMLRUNPARAM";
}

/* The variable is a list of letters with values: "e=18,s=4k". The last value of a letter counts; 0:
 * there is none. */
static unsigned ocaml_setting(char letter)
{
	const char *p = getenv(ocaml_variable());
	unsigned n = 0;
	while (p && *p) {
		if (p[0] == letter && p[1] == '=')
			n = (unsigned)strtoul(p + 2, NULL, 10);
		p = strchrnul(p, ',');
		p += *p != 0;
	}
	return n;
}

static unsigned ocaml_log_words(void)
{
	return ocaml_setting('e');
}

static unsigned ocaml_domains(void)
{
	return ocaml_setting('d');
}

static const char *ocaml_enlarge_rings(unsigned log_words, char **ret_value)
{
	const char *name = ocaml_variable(), *value = getenv(name);
	bool some = value && *value;
	int n = asprintf(ret_value, "%s%se=%u", some ? value : "", some ? "," : "", log_words);
	return n < 0 ? NULL : name;
}

static unsigned ebtrace_log_words(void)
{
	const char *p = getenv("EBTRACE_LOG_WSIZE");
	return p ? (unsigned)strtoul(p, NULL, 10) : 0;
}

const struct language languages[LANGUAGES] = {
	[LANGUAGE_EBTRACE_PROBES] =
		{
			.traits = {.name = "ebtrace-probes",
				   .larger_ring = "EBTRACE_LOG_WSIZE=",
				   .has_markers = true},
			.start = "EBTRACE_START",
			.start_too = "OCAML_RUNTIME_EVENTS_START",
			.dir = "EBTRACE_DIR",
			.preserve = "EBTRACE_PRESERVE",
			.ring_log_words = ebtrace_log_words,
			.program = "a program that links libebtrace-probes",
		},
	[LANGUAGE_OCAML] =
		{
			.traits = {.name = "ocaml",
				   .larger_ring = "OCAMLRUNPARAM=e=",
				   .minor_heap_setting = "s= of OCAMLRUNPARAM",
				   .major_pace_setting = "a larger o= of OCAMLRUNPARAM",
				   .heap_is_by_domain = true,
				   .minor_is_shared = true},
			.start = "OCAML_RUNTIME_EVENTS_START",
			.dir = "OCAML_RUNTIME_EVENTS_DIR",
			.preserve = "OCAML_RUNTIME_EVENTS_PRESERVE",
			.ring_log_words = ocaml_log_words,
			.domains = ocaml_domains,
			.enlarge_rings = ocaml_enlarge_rings,
			.program = "an OCaml 5 program",
			.hidden = "user events of OCaml 5.2 and later",
		},
};

const char language_requirement[] = "be an OCaml 5 program or link libebtrace-probes";
const char language_advice[] = "start it with OCAML_RUNTIME_EVENTS_START=1 (OCaml 5), or link "
			       "libebtrace-probes";
const char language_common_dir[] = "OCAML_RUNTIME_EVENTS_DIR"; /* our library reads it, too */

/* OCaml 5.0 to 5.5. The first three number their phases differently and lack some of the canonical
 * ids in their range. */
static const struct {
	uint32_t phases, counters;
	bool hides_user_events; /* the function is not called while the ring is off */
} ocaml[] = {
	{44, 11, false}, {44, 17, false}, {48, 17, true},
	{48, 26, true},	 {50, 26, true},  {50, 28, true},
};

const struct language *language_of(enum ebt_release release)
{
	if (release == EBT_RELEASE_EBTRACE)
		return &languages[LANGUAGE_EBTRACE_PROBES];
	bool is_ocaml = release >= EBT_RELEASE_OCAML_5_0 && release <= EBT_RELEASE_OCAML_5_5;
	return is_ocaml ? &languages[LANGUAGE_OCAML] : NULL;
}

struct traits language_traits(enum ebt_release release)
{
	const struct language *language = language_of(release);
	if (!language)
		return (struct traits){0};
	struct traits t = {
		.language = &language->traits,
		.release = release,
		/* The library's events have the ids of the newest release. */
		.phases = {0, ocaml[EBT_RELEASE_OCAML_5_5 - EBT_RELEASE_OCAML_5_0].phases},
		.counters = {0, ocaml[EBT_RELEASE_OCAML_5_5 - EBT_RELEASE_OCAML_5_0].counters},
	};
	if (language == &languages[LANGUAGE_OCAML]) {
		unsigned minor = release - EBT_RELEASE_OCAML_5_0;
		t.has_version = true;
		t.major = 5;
		t.minor = (uint16_t)minor;
		t.phases.end = ocaml[minor].phases;
		t.counters.end = ocaml[minor].counters;
		t.hides_user_events = ocaml[minor].hides_user_events;
	}
	return t;
}
