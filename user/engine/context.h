/* SPDX-License-Identifier: BSD-2-Clause */
/* The context shared by the modules of one run, and the results of a run. */
#ifndef ENGINE_CONTEXT_H
#define ENGINE_CONTEXT_H

#include "base/messages.h"
#include "engine/options.h"
#include "session/session.h"
#include "stream/sink.h"

struct memory_reader;

/* A periodic callback during a live run, also under full load. */
struct engine_watch {
	uint64_t period_ns;
	void (*tick)(void *ctx);
	void *ctx;
};

/* The context of a run. Everything that it points to is the caller's and outlives the run. */
struct engine {
	const struct engine_options *options;
	struct session *session;	  /* has the messages of the run, too */
	struct memory_reader *memory;	  /* of a live run; NULL: reads without a worker */
	struct sink *sink;		  /* the caller ends it */
	const struct engine_watch *watch; /* NULL: none */
	unsigned ring_log_words; /* of a program whose rings ebtrace enlarged; 0: it did not */
	int program_status;	 /* with ENGINE_PROGRAM: as a shell shows it */
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
