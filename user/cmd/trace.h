/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of `ebtrace trace`, which other commands that write events share. */
#ifndef CMD_TRACE_H
#define CMD_TRACE_H

#include "cmd/opts.h"
#include "core/session.h"

/* Writes the selected events to the output and in the format that the options name. Returns the
 * exit status. */
int trace_session(const struct opts *o, struct session *session);

#endif
