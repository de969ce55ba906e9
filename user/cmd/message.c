/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/message.h"

#include "base/log.h"
#include "cmd/commands.h"

void complain(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_vat(LOG_QUIET, fmt, ap);
	va_end(ap);
}

void message_print(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx;
	log_vat(level, fmt, ap);
}

const struct messages message_printer = {.line = message_print};

int message_status(const struct engine *e, enum engine_end end)
{
	static const int status[] = {
		[ENGINE_OK] = EXIT_OK,	       [ENGINE_FAILED] = EXIT_ERROR,
		[ENGINE_MISUSED] = EXIT_USAGE, [ENGINE_NOTHING] = EXIT_NOTHING,
		[ENGINE_GONE] = EXIT_GONE,     [ENGINE_KERNEL] = EXIT_KERNEL,
		[ENGINE_DENIED] = EXIT_DENIED,
	};
	return end == ENGINE_PROGRAM ? e->program_status : status[end];
}
