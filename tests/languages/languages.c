/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of languages with one row more, of a language that is not there: it has no ring, and
 * phases of its own.
 */
#define languages languages_that_are_there
#include "user/session/languages.c"
#undef languages

static const struct traits_phase phases[] = {
	{.name = "moth_collect", .stop = TRAITS_STOPS, .roles = TRAITS_MINOR},
	{.name = "moth_stop",
	 .stop = TRAITS_STOPS_PROCESS,
	 .roles = TRAITS_FORCED_MAJOR,
	 .cycles = 2},
	{.name = "moth_mark", .stop = TRAITS_RUNS, .roles = TRAITS_MAJOR_WORK | TRAITS_MAJOR},
	{.name = "moth_meet", .stop = TRAITS_STOPS, .barrier = 2},
};
static const struct language_version versions[] = {{.major = 1, .minor = 2},
						   {.major = 1, .minor = 3}};
static const char *const calls[] = {[11] = "moth.minor"};
static const char *const wrappers[] = {"wing_*", NULL};
static const struct traits_frames frames = {
	.source = ".moth", .library = "Wing", .call = calls, .calls = 12, .wrappers = wrappers};

static const struct language language_moth = {
	.traits = {.name = "moth",
		   .minor_heap_setting = "a larger moth",
		   .phases = {100, 4, phases},
		   .frames = &frames},
	.version = versions,
	.versions = 2,
	.program = "a moth",
};

extern const struct language *const languages[LANGUAGES_MAX + 1];
const struct language *const languages[LANGUAGES_MAX + 1] = {
	&language_ebtrace_probes,
	&language_ocaml,
	&language_moth,
	&language_cxx,
};
