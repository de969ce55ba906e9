/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run: moves the events that the options name through the pipeline of core/ into the
 * caller's sink. It prints nothing and ends no process: messages go to a reporter, and the run's
 * outcome is its result. Modules call each other downwards only:
 *
 *	cmd/trace, cmd/stat ─▶ engine
 *	    live ─▶ scan ─▶ ring_files ─▶ traced ─▶ traced_usage
 *	                               └▶ unread_rings; inbox, ring_dirs ─▶ known_rings
 *	                 └▶ probing
 *	         └▶ program ─▶ recording, inbox, rundir, leftover
 *	         └▶ interval, pipeline, signals, loop
 *	    convert ─▶ inputs ─▶ input_ring
 *	                      └▶ input_capture
 *	            └▶ pipeline, signals, loop
 *	cmd/mem_record ─▶ mem_record ─▶ program, rundir, signals, loop
 *	                             └▶ mem_resolve ─▶ mem_modules
 *	cmd/info ─▶ convert, inputs
 *	cmd/list ─▶ leftover, rundir
 *
 * All of them use context, options, damage (reports it) and refusal (reports why a
 * process cannot be traced).
 */
#ifndef ENGINE_RUN_H
#define ENGINE_RUN_H

#include "engine/context.h"

/*
 * Raises the priority of the process and its limit of descriptors as a run needs. Called before the
 * sink is made, so that its thread inherits the priority.
 */
void engine_prepare(const struct engine_options *o);
/* Moves all events that the options ask for into the sink. */
enum engine_end engine_run(struct engine *e);

#endif
