/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands with reports, stat, mem and pages: a command is a row of functions, and one driver
 * parses its command line, checks it, and writes the report.
 */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "cmd/destination.h"
#include "cmd/opts.h"
#include "cmd/report_form.h"

/* For the first lines of a command's help. */
#define REPORT_OF_PROGRAM                                                                         \
	"The report of a PROGRAM goes to stderr, as that of perf stat does, because the program " \
	"owns stdout; -o - sends it to stdout, the default of all other reports."

/* The first member of what a command keeps of a run. */
struct report_run {
	struct opts opts;
	const struct report_row *report;
	const struct report_form *form;
};

struct report_command {
	enum opts_commands command;
	const char *name; /* "ebtrace mem" */
	const char *args; /* of the usage line */
	/* The reports; the first word of the command line selects one if there are several. */
	const struct report_list *list;
	/* Writes argp's text: before and behind the options, separated by \v. 0 or -errno. */
	int (*doc)(struct buf *b);
	void (*schema)(struct json *j); /* of the JSON of all reports */
	/* Sets options that follow from the report, before they are checked. NULL: none do. */
	void (*prepare)(struct report_run *r);
	/* Checks what no rule of options does; the form is known. 0, or an exit status after a line
	 * on stderr. NULL: nothing. */
	int (*check)(struct report_run *r);
	int (*write)(struct report_run *r); /* returns the exit status */
};

/* The lines of --help about the reports of a list: the name, what the report shows, its formats. */
void report_put_list(struct buf *b, const struct report_list *l);

/* Runs a command; *r is its own, zeroed but for what it keeps beside. Returns the exit status. */
int report_command(const struct report_command *c, struct report_run *r, int argc, char **argv);

/* After a run: names -o - where a pipe got what a PROGRAM printed, and the report went to standard
 * error. Nothing follows data on a standard error that no person reads. */
void report_hint_pipe(const struct opts *o);
/* Runs a session with the sink that make() makes of ctx. The report goes to the output that the
 * options name, else to stdout, or for a started program to stderr. Returns the exit status. */
int report_write(const struct opts *o, destination_make *make, const void *ctx);
/* report_write() with the events that move() moves into the sink of the run. move() returns an exit
 * status. */
typedef int report_move(const void *ctx, const struct opts *o, struct session *s,
			struct sink *sink);
int report_write_by(const struct opts *o, destination_make *make, report_move *move,
		    const void *ctx);
/* Runs a session with a sink that writes nothing: make() gets the descriptor -1. Returns the exit
 * status. */
int report_read(const struct opts *o, destination_make *make, const void *ctx);

#endif
