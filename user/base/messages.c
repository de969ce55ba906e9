/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/messages.h"

void messages_error(const struct messages *m, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (m && m->line)
		m->line(m->ctx, LOG_QUIET, fmt, ap);
	va_end(ap);
}

void messages_at(const struct messages *m, enum log_level level, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (m && m->line)
		m->line(m->ctx, level, fmt, ap);
	va_end(ap);
}
