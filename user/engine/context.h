/* SPDX-License-Identifier: BSD-2-Clause */
/* What the modules of one run share, and how a run ends. */
#ifndef ENGINE_CONTEXT_H
#define ENGINE_CONTEXT_H

#include "core/session.h"
#include "core/sink.h"
#include "engine/options.h"
#include "engine/report.h"

/* Called by the clock during a live run, also while events come without a pause. */
struct engine_watch {
	uint64_t period_ns;
	void (*tick)(void *ctx);
	void *ctx;
};

/* What the modules of one run share. All that it points to is the caller's and outlives the run. */
struct engine {
	const struct engine_options *options;
	struct report report;
	struct session *session;
	struct sink *sink;		  /* is not ended */
	const struct engine_watch *watch; /* NULL: nobody watches */
	int program_status;		  /* with ENGINE_PROGRAM: as a shell shows it */
};

/* How a run ended; the reason of all but the first and the last has been reported. */
enum engine_end {
	ENGINE_OK,
	ENGINE_FAILED,
	ENGINE_MISUSED, /* what was named is something else */
	ENGINE_NOTHING, /* there is nothing to trace */
	ENGINE_GONE,	/* no such process */
	ENGINE_KERNEL,	/* a kernel thread */
	ENGINE_DENIED,	/* somebody else's process, or file */
	ENGINE_PROGRAM, /* as program_status says */
};

#endif
