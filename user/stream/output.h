/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last stage of a run, between the events and a format: the format's file begins with the first event,
 * gives way to another when it has its size, and it is noticed which part of a live run cannot keep up. Who
 * opened the file says how it begins, ends and is followed.
 */
#ifndef STREAM_OUTPUT_H
#define STREAM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"
#include "stream/pace.h"
#include "stream/sink.h"

/* The file of a format. Each function has told the reason of its error. */
struct output_file {
	/* Before the first byte is written. 0 or -errno. */
	int (*begin)(void *ctx);
	/* The format has ended, with an error or 0; -ECANCELED: its reader took nothing more. Returns the
	 * first error. */
	int (*end)(void *ctx, int err);
	/* Opens another file, with a format of its own. NULL: the limit ends the recording. 0 or -errno. */
	int (*next)(void *ctx, struct sink **ret);
	void *ctx;
};

struct output_options {
	const char *name;   /* of the output, in messages; as is `format` */
	const char *format; /* "the report" */
	bool is_capture;
	bool is_begun;	    /* what is written is seen from the start: a pipe, or a new file */
	bool is_live;	    /* the work of the format is timed */
	bool on_terminal;   /* say once, during the run, what limits it */
	uint64_t max_bytes; /* of a file; 0: no limit */
};

struct output {
	struct sink sink; /* of the run */

	/* private */
	struct sink *format;
	struct session *session;
	struct output_options opt;
	struct output_file file;
	struct pace pace;
	int err;     /* the first of changing files; -EPIPE: the limit is reached */
	bool begun;  /* the file may be written to */
	bool failed; /* to change files; the reason has been told */
};

/* Takes over `format`, which is freed with out->sink, or by output_end(). */
void output_init(struct output *out, struct session *s, struct sink *format,
		 const struct output_options *opt, const struct output_file *file);
/* If a live run has lost events: which part could not keep up. */
void output_report_limit(struct output *out);
/* Ends the format and its file. 0 or the first error, whose reason has been told. */
int output_end(struct output *out);

#endif
