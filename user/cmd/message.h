/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages on standard error, of the commands and of the engine; and the exit status that the end
 * of a run means.
 */
#ifndef CMD_MESSAGE_H
#define CMD_MESSAGE_H

#include "engine/context.h"

/* Prints "ebtrace: ..." to stderr, whatever the log level. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints messages of the engine on stderr, by the log level; ctx is not used. */
extern const struct messages message_printer;
void message_print(void *ctx, enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* Returns the exit status. */
int message_status(const struct engine *e, enum engine_end end);

#endif
