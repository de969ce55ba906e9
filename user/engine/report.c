/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/report.h"

void report_error(const struct report *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	r->line(r->ctx, LOG_QUIET, fmt, ap);
	va_end(ap);
}

void report_at(const struct report *r, enum log_level level, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	r->line(r->ctx, level, fmt, ap);
	va_end(ap);
}
