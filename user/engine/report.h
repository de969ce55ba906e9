/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's messages: a callback of the caller prints them. A message is one line without a
 * newline. It may contain names of files and programs, which are not trusted: the callback must
 * remove control characters.
 */
#ifndef ENGINE_REPORT_H
#define ENGINE_REPORT_H

#include <stdarg.h>

#include "base/log.h"

struct report {
	/* level: LOG_QUIET: an error, always shown; LOG_NORMAL: unless the user wants errors only;
	 * LOG_VERBOSE and LOG_DEBUG: with -v and -vv. */
	void (*line)(void *ctx, enum log_level level, const char *fmt, va_list ap)
		__attribute__((format(printf, 3, 0)));
	void *ctx;
};

void report_error(const struct report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void report_at(const struct report *r, enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
