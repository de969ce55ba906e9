/* SPDX-License-Identifier: BSD-2-Clause */
/* A run that ends with a report, as stat and mem have it. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "cmd/opts.h"
#include "cmd/output.h"

/* Runs a session with the sink that make() makes of ctx, whose report goes to the output that the
 * options name, else to stdout, of a started program to stderr. Returns the exit status. */
int report_write(const struct opts *o, output_make *make, const void *ctx);
/* The same of a sink that writes nothing; make() gets the descriptor -1. */
int report_read(const struct opts *o, output_make *make, const void *ctx);

#endif
