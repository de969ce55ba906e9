/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

enum log_level log_level = LOG_NORMAL;

void log_vat(enum log_level level, const char *fmt, va_list ap)
{
	if (level > log_level)
		return;
	char line[1024];
	vsnprintf(line, sizeof(line), fmt, ap);
	utf8_disarm(line); /* names of files and programs are not trusted */
	fprintf(stderr, "ebtrace: %s\n", line);
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	log_vat(level, fmt, ap);
	va_end(ap);
}
