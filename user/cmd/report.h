/* SPDX-License-Identifier: BSD-2-Clause */
/* A run that ends with a report, as stat and mem have it. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "cmd/destination.h"
#include "cmd/opts.h"
#include "cmd/report_form.h"

/* Of a command's help, in its first lines. */
#define REPORT_OF_PROGRAM                                                                         \
	"The report of a PROGRAM goes to stderr, as that of perf stat does, because the program " \
	"owns stdout; -o - sends it to stdout, the default of all other reports."

/* Sets whose standard output is beside a PROGRAM, by the form of the report: data and what the program
 * prints are never mixed. Before report_write(). */
void report_share_stdout(struct opts *o, const struct report_form *form);
/* After a run: names -o - where a pipe got what a PROGRAM printed, and the report went to standard
 * error. Nothing follows data on a standard error that no person reads. */
void report_hint_pipe(const struct opts *o);
/* Runs a session with the sink that make() makes of ctx, whose report goes to the output that the
 * options name, else to stdout, of a started program to stderr. Returns the exit status. */
int report_write(const struct opts *o, destination_make *make, const void *ctx);
/* The same; run moves the events into the sink of the run, and returns an exit status. */
typedef int report_run(const void *ctx, const struct opts *o, struct session *s, struct sink *sink);
int report_write_by(const struct opts *o, destination_make *make, report_run *run, const void *ctx);
/* The same of a sink that writes nothing; make() gets the descriptor -1. */
int report_read(const struct opts *o, destination_make *make, const void *ctx);

#endif
