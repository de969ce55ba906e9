/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last stage of a run, before a format: begins the file with the first event, changes files at
 * a size, and reports which part of a live run cannot keep up. The owner of the file supplies the
 * functions that begin, end and replace it.
 */
#ifndef STREAM_OUTPUT_H
#define STREAM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"
#include "stream/pace.h"
#include "stream/sink.h"

/* The file of a format. Each function reports its error itself. */
struct output_file {
	/* Before the first byte is written. 0 or -errno. */
	int (*begin)(void *ctx);
	/* The format has ended: err is 0 or its error; -ECANCELED: the reader of the output has
	 * stopped reading. Returns the first error. */
	int (*end)(void *ctx, int err);
	/* Opens the next file and makes its format. NULL: the limit ends the recording. 0 or
	 * -errno. */
	int (*next)(void *ctx, struct sink **ret);
	void *ctx;
};

struct output_options {
	const char *name;   /* of the output, in messages; as is `format` */
	const char *format; /* "the report" */
	bool is_capture;
	bool is_begun;	    /* begin() is not needed: a pipe, or a new file */
	bool is_live;	    /* the work of the format is timed */
	bool on_terminal;   /* report once, during the run, what limits it */
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
	bool failed; /* changing files failed; reported */
};

/* Takes over `format`, which is freed with out->sink, or by output_end(). */
void output_init(struct output *out, struct session *s, struct sink *format,
		 const struct output_options *opt, const struct output_file *file);
/* Reports which part could not keep up, if events were lost. */
void output_report_limit(struct output *out);
/* Ends the format and its file. 0 or the first error, which has been reported. */
int output_end(struct output *out);

#endif
