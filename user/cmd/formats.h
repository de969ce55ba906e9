/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats that events can be written in: one row each. */
#ifndef CMD_FORMATS_H
#define CMD_FORMATS_H

#include "core/session.h"
#include "core/sink.h"

#include <stdbool.h>

struct format {
	const char *name;
	const char *suffixes; /* of file names, each with its dot, separated by spaces */
	bool binary;	      /* not for a terminal */
	/* A sink that writes to fd, which stays the caller's. 0 or -errno. */
	int (*make)(struct session *s, int fd, struct sink **ret);
};

const struct format *format_named(const char *name); /* NULL: there is none */
/* As the suffix of a file name says; text if it says nothing. */
const struct format *format_of_path(const char *path);
/* All of them, for a message. Static. */
const char *format_names(void);

#endif
