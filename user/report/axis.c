/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/axis.h"

#include <stdio.h>

double axis_bytes_step(double most, unsigned ticks)
{
	double step = 1;
	while (step * ticks < most)
		step *= 2;
	return step;
}

double axis_time_step(double ns, unsigned ticks)
{
	static const double factor[] = {2, 2.5, 2};
	double step = 1;
	for (unsigned i = 0; step * ticks < ns; i = (i + 1) % 3)
		step *= factor[i];
	return step;
}

static struct report_text label(double v, double by, const char *const *units)
{
	struct report_text t;
	for (; units[1] && v >= by; units++)
		v /= by;
	snprintf(t.text, sizeof(t.text), "%.6g %s", v, *units);
	return t;
}

struct report_text axis_bytes_label(double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
	return label(bytes, 1024, units);
}

struct report_text axis_time_label(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};
	return label(ns, 1000, units);
}
