/* SPDX-License-Identifier: BSD-2-Clause */
#include <ebtrace/cursor.h>
#include <stdlib.h>

#include "session/canonical_phases.h"
#include "session/language.h"

static unsigned log_words(void)
{
	const char *p = getenv("EBTRACE_LOG_WSIZE");
	return p ? (unsigned)strtoul(p, NULL, 10) : 0;
}

static const struct language_ring ring = {
	.start = "EBTRACE_START",
	.start_too = "OCAML_RUNTIME_EVENTS_START",
	.dir = "EBTRACE_DIR",
	.preserve = "EBTRACE_PRESERVE",
	.larger = "EBTRACE_LOG_WSIZE=",
	.log_words = log_words,
};

static const struct language_version version = {0};

const struct language language_ebtrace_probes = {
	.traits = {.name = "ebtrace-probes",
		   .phases = {0, PHASES, canonical_phases},
		   .has_markers = true},
	.ring = &ring,
	.version = &version,
	.versions = 1,
	.release = EBT_RELEASE_EBTRACE,
	.program = "a program that links libebtrace-probes",
};
