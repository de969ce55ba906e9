/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that take events in have in common. */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include "cmd/opts.h"
#include "core/session.h"
#include "core/sink.h"

/* One of -p, -- PROGRAM and FILE must be there. 0, or EXIT_USAGE after a line on stderr. */
int run_check_usage(const struct opts *o);
/* Prepares a run, makes a session, and calls fn with it, whose exit status it returns. */
int run_session(const struct opts *o, int (*fn)(const struct opts *o, struct session *s));
/* Moves all events that the options ask for into the sink, which it does not end. Exit status. */
int run_into(const struct opts *o, struct session *session, struct sink *sink);
/* The status, or EXIT_LOSS if it is 0, events were lost and --fail-on-loss asks for that. */
int run_status(const struct opts *o, const struct session *session, int status);

#endif
