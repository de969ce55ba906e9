// SPDX-License-Identifier: BSD-2-Clause
/* Axes of charts have round steps, not more than asked for, and labels that show them exactly. */
#include "report/axis.h"

#include "tests/tap.h"

static void check_time(double ns, unsigned ticks, double step, const char *label)
{
	ok(axis_time_step(ns, ticks) == step, "%g ns in %u steps: of %g ns", ns, ticks, step);
	is_str(axis_time_label(step).text, label, "its label");
}

static void check_bytes(double bytes, unsigned ticks, double step, const char *label)
{
	ok(axis_bytes_step(bytes, ticks) == step, "%g bytes in %u steps: of %g", bytes, ticks,
	   step);
	is_str(axis_bytes_label(step).text, label, "its label");
}

int main(void)
{
	check_time(0, 4, 1, "1 ns");
	check_time(4, 4, 1, "1 ns");
	check_time(5, 4, 2, "2 ns");
	check_time(9e3, 4, 5e3, "5 us");
	check_time(1e9, 4, 5e8, "500 ms");
	check_time(3600e9, 8, 500e9, "500 s");
	check_bytes(0, 8, 1, "1 B");
	check_bytes(8192, 8, 1024, "1 KiB");
	check_bytes(8193, 8, 2048, "2 KiB");
	check_bytes(3e9, 4, 1 << 30, "1 GiB");
	is_str(axis_bytes_label(1536).text, "1.5 KiB", "a multiple of a step");
	return tap_done();
}
