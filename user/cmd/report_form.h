/* SPDX-License-Identifier: BSD-2-Clause */
/* What a report can be written as: chosen by -f, --json or the suffix of the output. */
#ifndef CMD_REPORT_FORM_H
#define CMD_REPORT_FORM_H

#include "cmd/opts.h"

/* The first member of the rows of a list; the first row is the default. */
struct report_form {
	const char *name; /* NULL ends a list */
	/* Of files that have it without -f, each with its dot, separated by spaces. */
	const char *suffixes;
};

/*
 * Chooses the form that the options name, of a list whose rows have row_bytes, and sets *ret_row to
 * its row. full_name is the report's in messages: "ebtrace mem live". 0, or EXIT_USAGE after a line
 * on stderr: it has no such form, also that of a suffix that has a meaning elsewhere; *ret_row is 0.
 */
int report_form_choose(const struct opts *o, const char *full_name, const struct report_form *first,
		       size_t row_bytes, size_t *ret_row);
/*
 * For a command whose report is the default one: a FILE may be the name of another, which stands
 * behind an option ("mem -q live FILE"). 0, or EXIT_USAGE after a line on stderr: it is the name of a
 * report, and there is no such file.
 */
int report_check_order(const struct opts *o, const char *command,
		       bool (*is_report)(const char *name));

#endif
