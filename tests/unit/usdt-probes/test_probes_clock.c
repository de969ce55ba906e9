/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <time.h>

#include "tests/tap.h"
#include "usdt-probes/clock.h"

/* The clock on this machine's time; test_probes_clock_model.c has what it does on any machine. */

static uint64_t vdso(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Each reading stands between two of the vdso; only tight sandwiches count, since a preemption
 * inside says nothing about the clock.
 */
static void sample(uint64_t *ret_tight, uint64_t *ret_far, uint64_t *ret_worst)
{
	struct ebt_clock clock = {0};
	uint64_t tight = 0, far = 0, worst = 0;
	uint64_t end = vdso() + 1000000000u, before = 0;
	do {
		before = vdso();
		uint64_t ts = ebt_clock_now(&clock);
		uint64_t after = vdso();
		if (after - before > 1000)
			continue;
		uint64_t off = ts < before ? before - ts : ts > after ? ts - after : 0;
		tight++;
		far += off > 1000;
		worst = off > worst ? off : worst;
	} while (before < end);
	*ret_tight = tight;
	*ret_far = far;
	*ret_worst = worst;
}

/* The kernel's verdict; it takes the counter for its clock only where its rate is constant. */
static int kernel_uses_counter(void)
{
	char name[32] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(name, EBT_CYCLES_CLOCKSOURCE);
}

int main(void)
{
	ok(!ebt_clock_choose("monotonic"), "EBTRACE_CLOCK=monotonic reads the vdso");
	ok(ebt_vdso_gettime() != NULL, "the kernel's clock is found without libc");
	struct ebt_clock clock = {0};
	uint64_t before = vdso(), ts = ebt_clock_now(&clock), after = vdso();
	ok(before <= ts && ts <= after, "and its time is CLOCK_MONOTONIC's");
	int back = 0;
	for (int i = 0; i < 100000; i++) {
		uint64_t next = ebt_clock_now(&clock);
		back += next < ts;
		ts = next;
	}
	is(back, 0, "and never goes back");
	errno = 0;
	ok(ebt_clock_gettime(77, &(struct timespec){0}) != 0 && !errno,
	   "a clock that is none is an error, which errno does not show");
	is(clock.span, 0, "and keeps no line of the counter");
	ok(kernel_uses_counter() || !ebt_clock_choose("tsc"),
	   "a counter that the kernel does not trust is never used");
	is(ebt_clock_choose(NULL), kernel_uses_counter(), "one that it trusts is, by itself");
	if (!ebt_clock_choose(NULL))
		return tap_done();
	uint64_t tight, far, worst;
	sample(&tight, &far, &worst);
	diag("%llu samples, %llu off by more than 1 us, the worst by %llu ns",
	     (unsigned long long)tight, (unsigned long long)far, (unsigned long long)worst);
	ok(tight > 1000, "there are enough samples");
	ok(far * 1000 <= tight,
	   "the counter's clock is within 1 us of CLOCK_MONOTONIC, 99.9 %% of times");

	/* The line of a clock that slept, and one whose counter jumped: it must not be carried
	 * on. */
	for (int i = 0; i < 10000000 && !clock.span; i++)
		ebt_clock_now(&clock);
	ok(clock.span != 0, "a line is found");
	clock.cycles0 += clock.span * 1000;
	before = vdso();
	ts = ebt_clock_now(&clock);
	after = vdso();
	ok(before <= ts + 1000 && ts <= after + 1000,
	   "after a jump of the counter the time is right");
	clock.mono0 -= 3600000000000u;
	clock.cycles0 -= clock.span + 1;
	ebt_clock_now(&clock);
	before = vdso();
	ts = ebt_clock_now(&clock);
	after = vdso();
	ok(before <= ts + 1000 && ts <= after + 1000, "after a suspend too");
	return tap_done();
}
