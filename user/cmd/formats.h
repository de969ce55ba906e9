/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats that events can be written in: one row each. */
#ifndef CMD_FORMATS_H
#define CMD_FORMATS_H

#include "core/session.h"
#include "core/sink.h"

enum format_trait {
	FORMAT_BINARY = 1,  /* not for a terminal */
	FORMAT_LINES = 2,   /* has lines with a time that --time chooses */
	FORMAT_CAPTURE = 4, /* holds all of a run, to be made into any other */
};

struct format {
	const char *name;
	const char *suffixes; /* of file names, each with its dot, separated by spaces */
	unsigned traits;      /* of enum format_trait */
	/* A sink that writes to fd, which stays the caller's. 0 or -errno. */
	int (*make)(struct session *s, int fd, struct sink **ret);
};

const struct format *format_named(const char *name); /* NULL: there is none */
/* As the suffix of a file name says; text if it says nothing, or for standard output (NULL, "-"). */
const struct format *format_of_path(const char *path);
/* All of them, for a message. Static. */
const char *format_names(void);

#endif
