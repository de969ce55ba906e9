/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of `ebtrace trace`, which other commands that write events share. */
#ifndef CMD_TRACE_H
#define CMD_TRACE_H

#include "cmd/opts.h"

/* Writes the selected events to the output and in the format that the options name. Returns the
 * exit status. */
int trace_run(const struct opts *o);

#endif
