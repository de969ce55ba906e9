/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output of a run: its sink, format and file. Files follow outfile.h: a file that has its final
 * name is complete, and a run that fails before its first event changes no file. No file is both an
 * input and the output of one run.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "cmd/opts.h"
#include "cmd/outfile.h"
#include "stream/pace.h"
#include "stream/sink.h"

/* fd stays the caller's. 0 or -errno. */
typedef int output_make(const void *ctx, struct session *s, int fd, struct sink **ret);

/* Makes the sink of a report, which writes to fd unless the options name a file. */
struct output_maker {
	output_make *make;
	const void *ctx;
	int fd;
};

struct output {
	struct sink sink;   /* the sink of the run */
	struct sink *inner; /* the format or the report behind it */
	const char *path;   /* NULL: standard output, or standard error */
	struct outfile file;
	struct session *session;
	struct output_maker maker;
	enum text_time time;
	uint64_t max_bytes; /* 0: no limit */
	unsigned rotate;    /* files of that size to keep; 0: the limit ends the recording */
	int err;	    /* the first of changing files; -EPIPE: the limit is reached */
	bool begun;	    /* the file may be written to */
	bool is_live;	    /* the work of the format is timed */
	struct pace pace;
	const char *format; /* in messages */
	bool is_capture;
	bool on_terminal; /* report once, during the run, what limits it */
	bool failed;	  /* output_close() has printed the reason */
};

/*
 * Beside a PROGRAM: data that -o sends to standard output, by whatever name, has it alone, so the
 * program's standard output goes to standard error. Before the run.
 */
void output_take_stdout(struct opts *o);
/* Beside a PROGRAM, without -o: what is written on this standard stream needs a file. EXIT_USAGE after a
 * line on stderr. */
int output_refuse_mixed(const struct opts *o, const char *stream, const char *format);
/* Opens the output that the options name. 0, or an exit status after a line on stderr. */
int output_open(struct output *out, const struct opts *o, struct session *s);
int output_open_made(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m);
/* If a live run has lost events, prints which part could not keep up. */
void output_report_limit(const struct output *out);
/* Ends the sink and names the file. Returns `status`, or, if it was 0 and writing failed, that. */
int output_close(struct output *out, const struct session *s, int status);

#endif
