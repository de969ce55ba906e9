/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes lines to stderr. Messages for the user go through messages.h, which clears the progress
 * line first; the layers below cmd/ use this module for diagnostics (LOG_DEBUG) only. One global,
 * the level.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>

enum log_level { LOG_SILENT = -2, LOG_QUIET = -1, LOG_NORMAL = 0, LOG_VERBOSE = 1, LOG_DEBUG = 2 };

extern enum log_level log_level;

/*
 * Writes "ebtrace: ..." and a newline to stderr if the level is at least `level`; LOG_QUIET: unless
 * it is LOG_SILENT. The line is UTF-8 without control characters, whatever the arguments contain.
 */
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_vat(enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

#endif
