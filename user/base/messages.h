/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of a run: a callback of the caller prints them. A message is one line without a
 * newline. It may contain names of files and programs, which are not trusted: the callback must
 * remove control characters.
 */
#ifndef BASE_MESSAGES_H
#define BASE_MESSAGES_H

#include <stdarg.h>

#include "base/log.h"

struct messages {
	/* level: LOG_QUIET: an error, always shown; LOG_NORMAL: unless the user wants errors only;
	 * LOG_VERBOSE and LOG_DEBUG: with -v and -vv. NULL: messages are dropped. */
	void (*line)(void *ctx, enum log_level level, const char *fmt, va_list ap)
		__attribute__((format(printf, 3, 0)));
	void *ctx;
};

/* m may be NULL: the message is dropped. */
void messages_error(const struct messages *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void messages_at(const struct messages *m, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
