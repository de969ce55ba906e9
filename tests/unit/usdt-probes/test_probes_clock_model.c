/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock of the probes in a world whose time is the test's: clock.c itself, compiled over a
 * cycle counter and a CLOCK_MONOTONIC that are functions of one simulated time. So the same is
 * tested on any machine, whatever clock it has, and a preemption falls exactly where it hurts.
 */
#include <stdint.h>
#include <time.h>

#include "tests/tap.h"
#include "usdt-probes/cycles.h"
#include "usdt-probes/vdso.h"

static uint64_t now_ns;	    /* simulated time */
static uint64_t preempt_ns; /* inside every pair, so long as it is set */
static int preempt_late;    /* behind the reading of CLOCK_MONOTONIC instead of before it */
static double ghz, slew;    /* of the counter; of CLOCK_MONOTONIC against it */
static uint64_t cycles_ahead;
static int in_clock; /* a call of ebt_clock_now() is under way */

static uint64_t mono_at(uint64_t ns)
{
	return 5000000000u + (uint64_t)((double)ns * (1 + slew));
}

static uint64_t model_cycles(void)
{
	now_ns += 8;
	return cycles_ahead + (uint64_t)((double)now_ns * ghz);
}

static int model_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	now_ns += 12 + (in_clock && !preempt_late ? preempt_ns : 0);
	uint64_t mono = mono_at(now_ns);
	ts->tv_sec = (time_t)(mono / 1000000000u);
	ts->tv_nsec = (long)(mono % 1000000000u);
	now_ns += 8 + (in_clock && preempt_late ? preempt_ns : 0);
	return 0;
}

static ebt_gettime_fn *model_vdso(void)
{
	return NULL;
}

#define ebt_cycles	 model_cycles
#define clock_gettime	 model_gettime
#define ebt_vdso_gettime model_vdso
#include "usdt-probes/clock.c"

static uint32_t seed;
static uint64_t random_below(uint64_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint64_t)(seed >> 8) * n >> 24;
}

struct result {
	unsigned far; /* more than 1 us off */
	unsigned lines, readings;
};

/* One reading, held between the times before and behind it. */
static void read_once(struct ebt_clock *clock, struct result *r)
{
	uint64_t before = mono_at(now_ns);
	in_clock = 1;
	uint64_t ts = ebt_clock_now(clock);
	in_clock = 0;
	uint64_t after = mono_at(now_ns);
	r->far += ts + 1000 < before || ts > after + 1000;
	r->lines += clock->span != 0;
	r->readings++;
}

/*
 * One fit in `every` is preempted for `ns` in all of its pairs; 0: none. Behind one in eight the
 * program makes a pause: over that, a spoilt point changes the slope too little to be seen by it.
 */
static struct result walk(unsigned every, uint64_t ns, int late, uint64_t max_step_ns)
{
	struct ebt_clock clock = {0};
	struct result r = {0};
	uint64_t cycles0 = 0;
	preempt_late = late;
	preempt_ns = every ? ns : 0; /* the very first too */
	for (int i = 0; i < 20000; i++) {
		read_once(&clock, &r);
		if (clock.cycles0 != cycles0 || preempt_ns)
			preempt_ns = every && !random_below(every) ? ns : 0;
		if (every && clock.cycles0 != cycles0 && !random_below(8))
			now_ns += 3000000000u;
		cycles0 = clock.cycles0;
		now_ns += random_below(max_step_ns);
	}
	preempt_ns = 0;
	return r;
}

static void test_preempted(void)
{
	static const uint64_t lengths[] = {2000, 30000, 400000, 7000000};
	unsigned far = 0, lines = 0, readings = 0;
	for (unsigned every = 1; every <= 16; every *= 4)
		for (unsigned i = 0; i < 8; i++)
			for (ghz = 1; ghz < 6; ghz += 1.3) {
				struct result r = walk(every + 1, lengths[i / 2], i % 2, 20000);
				far += r.far;
				lines += r.lines;
				readings += r.readings;
			}
	diag("%u readings, %u of them by a line", readings, lines);
	is(far, 0, "no pair that was preempted puts the clock off by more than 1 us");
	ok(lines > readings / 4, "though lines are found");
}

static void test_steady(void)
{
	unsigned far = 0, few = 0;
	for (ghz = 0.5; ghz < 6; ghz += 0.7)
		for (slew = -0.0005; slew < 0.0006; slew += 0.00025) {
			struct result r = walk(0, 0, 0, 5000);
			far += r.far;
			few += r.lines < r.readings / 10 * 9;
		}
	slew = 0;
	is(far, 0, "undisturbed, it is never off by more than 1 us");
	is(few, 0, "and reads the counter, not the system's clock, nine times in ten");
}

/* The counter jumps, either way, or its rate changes, while a line is in use. */
static void test_jumps(void)
{
	unsigned far = 0, lost = 0;
	for (int i = 0; i < 200; i++) {
		struct ebt_clock clock = {0};
		struct result r = {0};
		ghz = 2;
		cycles_ahead = UINT64_C(1) << 40;
		for (int k = 0; k < 1000 && !clock.span; k++, now_ns += 50000)
			read_once(&clock, &r);
		now_ns += 2 * EBT_CLOCK_FIT_NS; /* a probe after a pause, over which it jumped */
		cycles_ahead +=
			i % 2 ? random_below(1 << 24) << 14 : -(random_below(1 << 24) << 14);
		for (int k = 0; k < 400; k++, now_ns += random_below(100000))
			read_once(&clock, &r);
		far += r.far;
		lost += !clock.span;
	}
	cycles_ahead = 0;
	is(lost, 0, "after a jump of the counter a line is found again");
	diag("%u readings off by more than 1 us", far);
	ok(far <= 200, "and at most one reading a jump is off");
}

int main(void)
{
	ghz = 2;
	seed = 1;
	ebt_clock_cycles = true;
	test_steady();
	test_preempted();
	test_jumps();
	return tap_done();
}
