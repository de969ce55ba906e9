/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats of events: one row each. */
#ifndef CMD_FORMATS_H
#define CMD_FORMATS_H

#include <stdbool.h>

#include "session/session.h"
#include "stream/sink.h"

enum format_trait {
	FORMAT_BINARY = 1,  /* not for a terminal */
	FORMAT_LINES = 2,   /* has lines with a time, which --time selects */
	FORMAT_CAPTURE = 4, /* holds a whole run; converts to any other */
};

struct format {
	const char *name;
	const char *suffixes; /* of file names, each with its dot, separated by spaces */
	unsigned traits;      /* of enum format_trait */
	/* Makes a sink that writes to fd, which remains the caller's. 0 or -errno. */
	int (*make)(struct session *s, int fd, struct sink **ret);
};

/* By number; NULL behind the last one. */
const struct format *format_at(size_t i);
const struct format *format_named(const char *name); /* or NULL */
/* The format of a file's suffix; text for any other suffix and for standard output (NULL, "-"). */
const struct format *format_of_path(const char *path);
/* The suffix of an output's name, with its dot: the name promises a format. NULL: it has none, or
 * names what is there and no regular file (a FIFO, a device). */
const char *format_suffix(const char *path);
bool format_has_suffix(const char *suffix); /* some format */
/* The suffixes of all formats, for a message. Static. */
const char *format_suffixes(void);
/* The names of all formats, for a message. Static. */
const char *format_names(void);

#endif
