/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages on standard error: those of the commands, and those that the engine reports. And what the
 * end of a run means as an exit status.
 */
#ifndef CMD_MESSAGE_H
#define CMD_MESSAGE_H

#include "engine/context.h"

/* Prints "ebtrace: ..." to stderr, whatever the log level. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Messages of the engine go to stderr, as the log level says; ctx is not used. */
extern const struct report message_report;
void message_print(void *ctx, enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* The exit status. */
int message_status(const struct engine *e, enum engine_end end);

#endif
