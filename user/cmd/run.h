/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that the commands that read events share. */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include "cmd/opts.h"
#include "engine/context.h"
#include "session/session.h"
#include "stream/sink.h"

/* Prepares a run, makes a session, and calls fn with it, whose exit status it returns. */
int run_session(const struct opts *o,
		int (*fn)(const struct opts *o, struct session *s, const void *ctx),
		const void *ctx);
/* Moves all selected events into the sink, without ending it. Returns an exit status. */
int run_into(const struct opts *o, struct session *session, struct sink *sink);
/* The same beside a guest of the loop, which shows the progress, and the messages: NULL: as they
 * come. */
int run_beside(const struct opts *o, struct session *session, struct sink *sink,
	       struct engine_guest *guest, const struct messages *messages);
/* As run_into() with a function of the caller, which moves the events. */
int run_engine(const struct opts *o, struct session *session, struct sink *sink,
	       enum engine_end (*fn)(struct engine *e, void *ctx), void *ctx);
/* Returns the status, or EXIT_LOSS if it is 0, events were lost and --fail-on-loss is given. */
int run_status(const struct opts *o, const struct session *session, int status);

#endif
