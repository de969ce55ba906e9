/* SPDX-License-Identifier: BSD-2-Clause */
#include <caml/mlvalues.h>
#include <time.h>

static long cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

/* So many milliseconds of CPU time. */
value held_spin(value ms)
{
	long until = cpu_ns() + Long_val(ms) * 1000000;
	while (cpu_ns() < until)
		;
	return Val_unit;
}
