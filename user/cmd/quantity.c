/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse(const char *text, const char *const units[], const double scale[], double *ret)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || errno || !isfinite(v) || v < 0)
		return false;
	for (unsigned i = 0; units[i]; i++) {
		*ret = v * scale[i];
		if (!strcmp(end, units[i]))
			return true;
	}
	return false;
}

bool quantity_time(const char *text, double *ret_ns)
{
	static const char *const units[] = {"", "ns", "us", "ms", "s", "m", "h", NULL};
	static const double scale[] = {1e9, 1, 1e3, 1e6, 1e9, 60e9, 3600e9};
	return parse(text, units, scale, ret_ns);
}

bool quantity_size(const char *text, double *ret_bytes)
{
	static const char *const units[] = {"", "k", "K", "M", "G", NULL};
	static const double scale[] = {1, 1024, 1024, 1048576, 1073741824};
	return parse(text, units, scale, ret_bytes);
}
