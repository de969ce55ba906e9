/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the last seconds of a stream in memory, and writes a capture each time a span lasts longer
 * than a limit (format/ebt/span_watch.h): from `before` its begin to `after` its end. A span that
 * is found while a capture is written extends it. One that is still open `after` its limit is found
 * then, and once more if it ends behind that capture. Nothing else is written.
 *
 * A capture consists of whole blocks, so it begins up to an eighth of `before` earlier. If the
 * limit of memory has dropped a part of what it should have, it begins later, and says so (TRIGGER
 * in codec/capture/capture.h).
 */
#ifndef FORMAT_EBT_TRIGGER_H
#define FORMAT_EBT_TRIGGER_H

#include "format/ebt/span_watch.h"
#include "stream/sink.h"

/* A capture that has been written, or is about to be. */
struct trigger_capture {
	unsigned number; /* from 1 */
	struct span_hit hit;
	unsigned hits;	  /* spans found */
	uint64_t from_ns; /* when it was to begin */
	uint64_t kept_ns; /* when its first block begins */
	bool is_cut;	  /* memory was short: kept_ns is behind from_ns */
	uint64_t events;
};

struct trigger_options {
	const struct span_rule *rule; /* the caller's, like all pointers */
	unsigned rules;
	uint64_t before_ns, after_ns;
	unsigned max;  /* captures; then the sink ends with -EPIPE. 0: any number */
	size_t memory; /* bytes */
	/* Opens the file of a capture, and closes it after its last byte; err: that of writing. 0
	 * or -errno. */
	int (*open)(void *ctx, const struct trigger_capture *c, int *ret_fd);
	int (*close)(void *ctx, const struct trigger_capture *c, int err);
	void *ctx;
};

/* The session is kept. 0 or -errno. */
int trigger_new(const struct session *s, const struct trigger_options *o, struct sink **ret);
/* The number of captures that have been begun. */
unsigned trigger_count(const struct sink *k);

#endif
