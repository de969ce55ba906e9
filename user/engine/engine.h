/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run: events out of what the options name, through the pipeline of core/, into a sink that the
 * engine is handed. It prints nothing and ends no process: messages go to a reporter, and how the
 * run ended is its result. Who calls whom, downwards alone:
 *
 *	cmd/trace, cmd/stat ─▶ engine
 *	    live ─▶ scan ─▶ ring_files ─▶ follow ─▶ followed_usage
 *	                               └▶ unread_rings; inbox, ring_dirs ─▶ known_rings
 *	                 └▶ probing
 *	         └▶ program ─▶ recording, inbox, rundir, leftover
 *	         └▶ interval, pipeline, signals, loop
 *	    convert ─▶ inputs ─▶ input_ring
 *	                      └▶ input_capture
 *	            └▶ pipeline, signals, loop
 *	cmd/info ─▶ convert, inputs
 *	cmd/list ─▶ leftover, rundir
 *
 * All of them use context, options, report, faults (damage that was found) and refusal (why a process cannot be
 * traced).
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/context.h"

/*
 * Takes the priority and the descriptors that a run may need, for the whole process. Before the sink
 * is made, whose thread has them then, too.
 */
void engine_prepare(const struct engine_options *o);
/* Moves all events that the options ask for into the sink. */
enum engine_end engine_run(struct engine *e);
/* What a process had overwritten before we came is no loss of this run. */
bool engine_came_late(const struct engine_options *o);

#endif
