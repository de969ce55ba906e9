/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file or stream that the options name, and makes the format on it. Files follow
 * outfile.h: a file with its final name is complete, and a run that fails before its first event
 * changes no file. No file is both an input and the output of one run.
 */
#ifndef CMD_DESTINATION_H
#define CMD_DESTINATION_H

#include "cmd/opts.h"
#include "cmd/outfile.h"
#include "stream/output.h"

/* fd stays the caller's. 0 or -errno. */
typedef int destination_make(const void *ctx, struct session *s, int fd, struct sink **ret);

/* Makes the sink of a report, which writes to fd unless the options name a file. */
struct destination_maker {
	destination_make *make;
	const void *ctx;
	int fd;
	const struct format *format; /* NULL: a report */
};

struct destination {
	struct output output; /* its sink is that of the run */
	const char *path;     /* NULL: standard output, or standard error */
	struct outfile file;
	struct session *session;
	struct destination_maker maker;
	enum text_time time;
	unsigned rotate; /* files of one size to keep; 0: the limit ends the recording */
	bool failed;	 /* destination_close() has printed the reason */
};

/*
 * Beside a PROGRAM: data that -o sends to standard output, by whatever name, has it alone, so the
 * program's standard output goes to standard error. Before the run.
 */
void destination_take_stdout(struct opts *o);
/* Beside a PROGRAM, without -o: what is written on this standard stream needs a file. EXIT_USAGE
 * after a line on stderr. */
int destination_refuse_mixed(const struct opts *o, const char *stream, const char *format);
/* Opens what the options name; *d must not move until it is closed. 0, or an exit status after a
 * line on stderr. */
int destination_open(struct destination *d, const struct opts *o, struct session *s);
int destination_open_made(struct destination *d, const struct opts *o, struct session *s,
			  const struct destination_maker *m);
/* Ends the format and names the file. Returns `status`, or EXIT_ERROR if it was 0 and writing
 * failed. */
int destination_close(struct destination *d, int status);

#endif
