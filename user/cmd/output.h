/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where events are written. A regular file is written as FILE.part and gets its name when it is
 * whole, so what carries the name is always complete; a run that is killed leaves the part, which
 * every format keeps readable. Anything else (a pipe, a device, standard output) is written at once.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "cmd/opts.h"
#include "core/sink.h"
#include <sys/types.h>

struct output {
	const char *path; /* NULL: standard output */
	char *whole;	  /* the file behind the path */
	char *part;	  /* what it is called until it is whole; NULL: no rename at the end */
	int fd;
	bool failed; /* output_close() has said why */
	dev_t dev;   /* of the part: another run may put its own in the place of ours */
	ino_t ino;
	struct sink *sink;
};

/* What makes a sink that is no format, and where it writes if the options do not say. */
struct output_maker {
	/* fd stays the caller's. 0 or -errno. */
	int (*make)(const void *ctx, struct session *s, int fd, struct sink **ret);
	const void *ctx;
	int fd;
};

/* As the options say. 0, or an exit status after a line on stderr. */
int output_open(struct output *out, const struct opts *o, struct session *s);
int output_open_made(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m);
/* Ends the sink and names the file. Returns `status`, or, if it was 0 and writing failed, that. */
int output_close(struct output *out, const struct session *s, int status);

#endif
