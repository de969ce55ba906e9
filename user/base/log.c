/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

enum log_level log_level = LOG_NORMAL;

void log_at(enum log_level level, const char *fmt, ...)
{
	if (level > log_level)
		return;
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "ebtrace: %s\n", line);
}
