/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of a command, and what each can be written as: chosen by -f, --json or the suffix of
 * the output. */
#ifndef CMD_REPORT_FORM_H
#define CMD_REPORT_FORM_H

#include "cmd/opts.h"

/* The first member of the rows of a list; the first row is the default. */
struct report_form {
	const char *name; /* NULL ends a list */
	/* Suffixes of files that have this form without -f, each with its dot, separated by
	 * spaces. */
	const char *suffixes;
	bool is_binary; /* not for a terminal, nor for standard error beside a PROGRAM */
};

/* The first member of the rows of a list of reports; the first row is the default. */
struct report_row {
	const char *name;		 /* NULL ends a list */
	const char *full_name;		 /* in messages: "ebtrace mem live" */
	const char *help;		 /* a line */
	const struct report_form *forms; /* the first one */
	size_t form_bytes;		 /* of a row of them */
};

/* A command's list of reports, for code that knows none of them. */
struct report_list {
	const struct report_row *reports; /* the first one */
	size_t report_bytes;		  /* of a row of them */
	const char *verb;		  /* a word in their place that is no report; NULL */
};

/* By number; NULL behind the last one. */
const struct report_form *report_form_at(const struct report_row *r, size_t i);
const struct report_row *report_row_at(const struct report_list *l, size_t i);
/* NULL: the list has no report of this name. */
const struct report_row *report_row_named(const struct report_list *l, const char *name);

/*
 * Chooses the form of a report that the options name, and sets *ret_row to its number. 0, or
 * EXIT_USAGE after a line on stderr: it has no such form, also that of a suffix that has a meaning
 * elsewhere, or it is binary, and would go to a terminal or to standard error beside a PROGRAM;
 * *ret_row is 0.
 */
int report_form_choose(const struct opts *o, const struct report_row *r, size_t *ret_row);
/*
 * For a command line that names no report, so the default one is written: a FILE may be meant to be
 * the name of another report. 0, or EXIT_USAGE after a line on stderr: there is no such file, and
 * it is the name of a report, behind a FILE, or the first word and no report's name.
 */
int report_check_words(const struct opts *o, const char *command, const struct report_list *l);

#endif
