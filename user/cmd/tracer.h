/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of tracing: builds the sources that the options ask for, drives the pump, waits in
 * between, and ends it in the right order: detach, stop, drain, end.
 */
#ifndef CMD_TRACER_H
#define CMD_TRACER_H

#include "cmd/opts.h"
#include "core/pump.h"
#include "core/session.h"
#include "core/sink.h"
#include "source/capture.h"
#include "source/ring.h"

/*
 * Follows the processes or the program of the options until they end, the duration is over, or a
 * signal says so. Prints what goes wrong. Returns an exit status.
 */
int tracer_live(const struct opts *o, struct session *session, struct sink *sink);
/* A pump into the sink that passes on what the options ask for. 0 or -ENOMEM. */
int tracer_pump(const struct opts *o, struct session *session, struct sink *sink,
		struct pump **ret);
/* A line on stderr if threads were asked for, and events had none. */
void tracer_tell_threadless(struct pump *pump);
/* A line on stderr for each file that is damaged. */
void tracer_tell_damage(const struct ring_source *rings);
/* The same for a capture that was read to its end. An exit status: it was none, or unreadable. */
int tracer_tell_capture(const struct capture_source *s);
/* Passes ring files and captures through, once. The same for --snapshot of processes. */
int tracer_files(const struct opts *o, struct session *session, struct sink *sink);

#endif
