/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/option_help.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	enum opts_commands command;
	const char *text;
} own[] = {
	{"pid", OPTS_PAGES, "A running process; with a FILE: the process in it that is reported"},
	{"format", OPTS_STAT, "text, or svg with --mmu; default: by the suffix of FILE, else text"},
	{"format", OPTS_PROFILE,
	 "text, json, folded, svg, pprof, or ebt for the samples themselves; default: by the "
	 "suffix of FILE, else text"},
	{"by", OPTS_PROFILE,
	 "A section for each phase, thread, domain, program or span (or fiber, where it is in "
	 "none); default: for mutator and collector"},
	{"marker", OPTS_PROFILE,
	 "Spans for --by span, which is the default with it: pairs of markers of any program, "
	 "'p:begin~p:end'; names may be patterns: 'p:*_begin~p:*_end' (repeatable)"},
	{"min-duration", OPTS_PROFILE,
	 "With --off-cpu or --wall: only blocks of at least this length; default 1ms, of a FILE "
	 "all"},
	{"top", OPTS_PROFILE, "Only the N functions with the most samples; default 20 in text"},
	{"format", OPTS_MEM,
	 "A format of the report, as listed above; default: by the suffix of FILE, else the first"},
	{"format", OPTS_PAGES,
	 "A format of the report, as listed above; default: by the suffix of FILE, else the first"},
	{"output", OPTS_MEM_RECORD, "The trace to write; - is stdout"},
	{"format", OPTS_SPANS,
	 "text, json (as --json), folded or svg (a flame graph); default: by the suffix of FILE, "
	 "else "
	 "text"},
	{"by", OPTS_SPANS,
	 "A name for each program or process, too; or '#N': spans of markers (-U) by argument N of "
	 "their begins: '#0'"},
	{"top", OPTS_SPANS, "The N slowest spans, each with its parts in their order; default 5"},
	{"blame", OPTS_STAT,
	 "Report what pauses were made of: waits for a CPU or for another domain, blocking, and "
	 "the threads that caused them (needs privilege); =faults: with the time of page faults"},
	{"stack", OPTS_STAT,
	 "With --blame: record where each phase began, or those of this name or kind, and print "
	 "it for the longest pauses; !GLOB excludes (repeatable; needs privilege)"},
	{"stack", OPTS_SPANS,
	 "Record where threads block for 1 ms or longer, and print it for the longest block of "
	 "each "
	 "of the slowest spans (needs privilege)"},
	{"snapshot", OPTS_STAT, "Report what the rings hold now, then exit"},
	{"max-stack", OPTS_STAT | OPTS_SPANS,
	 "With --json: functions of a stack that are written, the innermost; default 1024, 0: all"},
	{"rate", OPTS_MEM,
	 "Probability that a word of 8 bytes was sampled, where the input does not record it"},
	{"rate", OPTS_MEM_RECORD,
	 "Probability that a word of 8 bytes is sampled; default 1e-5, a sample for 800 kB"},
	{"interval", OPTS_MEM, "With --json: print the report so far at this interval: 1s, 100ms"},
	{"format", OPTS_TOP, "text or json, of the frame of --once"},
	{"output", OPTS_TOP, "With --once or --json: write the frame to FILE instead of stdout"},
	{"json", OPTS_TOP, "Print one frame as JSON, as --once does as text"},
	{"interval", OPTS_TOP,
	 "Time between two frames, of which the rates are: 500ms, 5s; default 1s"},
	{"top", OPTS_TOP, "With --once or --json: only the first N rows"},
	{"blame", OPTS_TOP,
	 "Record what pauses are made of, for the last pauses of a process (needs privilege); "
	 "=faults: with the time of page faults"},
	{"top", OPTS_MEM, "Only the N rows with the most bytes"},
	{"top", OPTS_PAGES, "Only the N rows with the most pages"},
	{"json-schema", OPTS_TRACE, "Print the schema of the NDJSON output and exit"},
};

const char *option_own_help(const char *name, enum opts_commands command)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i].command == command && !strcmp(own[i].name, name))
			return own[i].text;
	return NULL;
}
