/* SPDX-License-Identifier: BSD-2-Clause */
/* The context shared by the modules of one run, and the results of a run. */
#ifndef ENGINE_CONTEXT_H
#define ENGINE_CONTEXT_H

#include "base/messages.h"
#include "engine/options.h"
#include "session/session.h"
#include "stream/sink.h"

struct loop;
struct memory_reader;

/*
 * What a command adds to the one loop of a run (engine/loop.h): a keyboard, a socket, a timer of
 * frames. join() is called before the first event passes, and leave() behind the last one, before a
 * program of ours is waited for; both once if join() was. In between the callbacks of its
 * descriptors and timers are called like all others of the loop: between two batches of events,
 * also under full load, late by one step of the pump at most. They may read the sink and what it
 * keeps, which has all events up to the last horizon (sink_advance()), but not call the engine.
 * They should not wait: rings fill meanwhile.
 *
 * A callback ends the run as the end of --duration does by setting `ends`: what has been recorded
 * is drained, and the sink gets its end. The traced processes get no signal.
 */
struct engine_guest {
	/* 0; -errno ends the run, as an error of a callback does. */
	int (*join)(void *ctx, struct loop *l);
	/* Removes its descriptors from the loop and clears its timers. */
	void (*leave)(void *ctx, struct loop *l);
	void *ctx;
	bool ends;
};

/* The context of a run. Everything that it points to is the caller's and outlives the run. */
struct engine {
	const struct engine_options *options;
	struct session *session;      /* has the messages of the run, too */
	struct memory_reader *memory; /* of a live run; NULL: reads without a worker */
	struct sink *sink;	      /* the caller ends it */
	struct engine_guest *guest;   /* NULL: none */
	unsigned ring_log_words;      /* of the rings that ebtrace enlarged; 0: it enlarged none */
	int program_status;	      /* with ENGINE_PROGRAM: as a shell shows it */
};

/* The result of a run; the reason has been reported for all but the first and the last. */
enum engine_end {
	ENGINE_OK,
	ENGINE_FAILED,
	ENGINE_MISUSED, /* an argument names something else than expected */
	ENGINE_NOTHING, /* nothing to trace */
	ENGINE_GONE,	/* no such process */
	ENGINE_KERNEL,	/* a kernel thread */
	ENGINE_DENIED,	/* a process or file of another user */
	ENGINE_PROGRAM, /* as program_status says */
};

#endif
