/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that a test collects, to compare it: say() appends to `said`, and *said = 0 empties it. */
#ifndef TESTS_SAID_H
#define TESTS_SAID_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char said[8192];

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list ap;
	size_t at = strlen(said);
	va_start(ap, fmt);
	vsnprintf(said + at, sizeof(said) - at, fmt, ap);
	va_end(ap);
}

#endif
