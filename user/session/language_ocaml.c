/* SPDX-License-Identifier: BSD-2-Clause */
#include <ebtrace/cursor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/canonical_phases.h"
#include "session/language.h"

/* The runtime reads the second variable only where the first one is not set, not even to
 * nothing. */
static const char *variable(void)
{
	bool second = !getenv("OCAMLRUNPARAM") && getenv("CAMLRUNPARAM");
	return second ? "CAMLRUNPARAM" : "OCAMLRUNPARAM";
}

/* The variable is a list of letters with values: "e=18,s=4k". The last value of a letter counts; 0:
 * there is none. */
static unsigned setting(char letter)
{
	const char *p = getenv(variable());
	unsigned n = 0;
	while (p && *p) {
		if (p[0] == letter && p[1] == '=')
			n = (unsigned)strtoul(p + 2, NULL, 10);
		p = strchrnul(p, ',');
		p += *p != 0;
	}
	return n;
}

static unsigned log_words(void)
{
	return setting('e');
}

static unsigned domains(void)
{
	return setting('d');
}

static const char *enlarge(unsigned words, char **ret_value)
{
	const char *name = variable(), *value = getenv(name);
	bool some = value && *value;
	int n = asprintf(ret_value, "%s%se=%u", some ? value : "", some ? "," : "", words);
	return n < 0 ? NULL : name;
}

static const struct language_ring ring = {
	.start = "OCAML_RUNTIME_EVENTS_START",
	.dir = "OCAML_RUNTIME_EVENTS_DIR",
	.preserve = "OCAML_RUNTIME_EVENTS_PRESERVE",
	.version_option = "--ocaml-version",
	.larger = "OCAMLRUNPARAM=e=",
	.log_words = log_words,
	.domains = domains,
	.enlarge = enlarge,
};

/*
 * The first three number their phases differently and lack some of the canonical ids in their
 * range. The outermost phases that stop the mutator differ by version, from the sources of 5.0 to
 * 5.5:
 *
 *   5.0 - 5.3  stw_leader (the domain that requests a minor collection or the end of a cycle),
 *              interrupt_remote around stw_handler (the others, at a poll point), stw_handler alone
 *              (the others, by their backup thread while they block: their mutator could not
 *              continue), major (a slice), explicit_gc_* (Gc.minor and the like, with the
 *              finalisers they run), major_finish_marking and _sweeping (a domain that ends)
 *   5.4, 5.5   the same; a minor collection that the domain requests is in empty_minor, which
 *              also holds the wait for another domain that leads
 */
static const struct language_version versions[] = {
	{5, 0, false, true}, {5, 1, false, false}, {5, 2, true, false},
	{5, 3, true, false}, {5, 4, true, false},  {5, 5, true, false},
};

enum {
#define EBT_PHASE(id, name, stops) PHASE_##name = id,
#include <ebtrace/events.def>
};
static const char *const calls[] = {
	[PHASE_explicit_gc_set] = "Gc.set",
	[PHASE_explicit_gc_stat] = "Gc.stat",
	[PHASE_explicit_gc_minor] = "Gc.minor",
	[PHASE_explicit_gc_major] = "Gc.major",
	[PHASE_explicit_gc_full_major] = "Gc.full_major",
	[PHASE_explicit_gc_compact] = "Gc.compact",
	[PHASE_explicit_gc_major_slice] = "Gc.major_slice",
};

static const char *const wrappers[] = {
	"Stdlib", "Stdlib.*", "Stdlib__*", "Camlinternal*", NULL,
};

static const struct traits_frames frames = {
	.source = ".ml",
	.library = "Stdlib",
	.call = calls,
	.calls = sizeof(calls) / sizeof(*calls),
	.wrappers = wrappers,
};

const struct language language_ocaml = {
	.traits = {.name = "ocaml",
		   .minor_heap_setting = "s= of OCAMLRUNPARAM",
		   .major_pace_setting = "a larger o= of OCAMLRUNPARAM",
		   .no_samples = "no OCaml domain used up half of its minor heap (OCaml 5.0: all "
				 "of it)",
		   .periodic = "where an OCaml domain has used up half of its minor heap (OCaml "
			       "5.0: all of it)",
		   .phases = {0, PHASES, canonical_phases},
		   .frames = &frames,
		   .heap_is_by_domain = true,
		   .minor_is_shared = true},
	.ring = &ring,
	.version = versions,
	.versions = sizeof(versions) / sizeof(*versions),
	.release = EBT_RELEASE_OCAML_5_0,
	.program = "an OCaml 5 program",
	.hidden = "user events of OCaml 5.2 and later",
};
