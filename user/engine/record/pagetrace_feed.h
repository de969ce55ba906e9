/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run of one page trace in a regular file, past the pipeline: the reader's own batches go
 * straight to a consumer of them. It ends with the file, or at a signal.
 */
#ifndef ENGINE_RECORD_PAGETRACE_FEED_H
#define ENGINE_RECORD_PAGETRACE_FEED_H

#include <ebtrace/pagetrace.h>

#include "engine/context.h"

struct pagetrace_feed {
	int fd;
	const char *name; /* of the file, as the options have it */
	/* What the events go to. 0 or -errno. */
	int (*events)(void *ctx, const struct ebt_pagetrace_event *ev, size_t n);
	void *ctx;
	/* What was found, set by pagetrace_feed_run(). */
	struct ebt_pagetrace_counts counts;
	uint64_t bytes;	    /* of the file */
	uint64_t backwards; /* lanes beyond one for each P: times that a P's blocks went back */
};

/*
 * True if the options name one input, a regular file that is a page trace or empty: it is open
 * then, as ret->fd. Other inputs are engine_run()'s, also those that cannot be opened.
 */
bool pagetrace_feed_open(const struct engine_options *o, struct pagetrace_feed *ret);
/* Moves all events, and counts the session's totals. Does not use the sink. */
enum engine_end pagetrace_feed_run(struct engine *e, struct pagetrace_feed *f);
void pagetrace_feed_close(struct pagetrace_feed *f);

#endif
