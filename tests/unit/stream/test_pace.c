/* SPDX-License-Identifier: BSD-2-Clause */
/* Which part of a run is said to limit it, from where its time went. */
#include "base/clock.h"
#include "stream/pace.h"
#include "tests/tap.h"

#include <unistd.h>

#define MS 1000000ull

static void check(const char *what, struct pace_times busy, enum pace_limit want)
{
	struct pace p = {.busy = busy};
	ok(pace_limit(&p) == want, "%s", what);
}

/* Spends some time as a format does, in batches. */
static void work(struct pace *p, uint64_t ns)
{
	for (uint64_t end = now_ns() + ns; now_ns() < end; pace_ready(p, true)) {
		uint64_t before = now_ns();
		while (now_ns() < before + 20000)
			;
		pace_format(p, now_ns() - before);
	}
}

static void test_waiting(void)
{
	struct pace p;
	pace_begin(&p);
	for (int i = 0; i < 40; i++) {
		pace_ready(&p, false);
		usleep(10000);
	}
	pace_ready(&p, true);
	ok(pace_limit(&p) == PACE_OUTPUT, "an output that accepts nothing for 0.4 s is the limit");
	pace_begin(&p);
	for (int i = 0; i < 40; i++) {
		pace_ready(&p, true);
		usleep(10000);
	}
	pace_ready(&p, true);
	/* Where it waits longer for a CPU than it sleeps, that is. */
	enum pace_limit limit = pace_limit(&p);
	ok(limit == PACE_NONE || limit == PACE_CPU,
	   "a thread that sleeps while the output accepts more is limited by no work");
	pace_begin(&p);
	pace_ready(&p, false);
	for (int i = 0; i < 40; i++) {
		usleep(10000);
		pace_ready(&p, true);
	}
	limit = pace_limit(&p);
	ok((limit == PACE_NONE || limit == PACE_CPU) && p.busy.output_ns < 200 * MS,
	   "nor is one whose output accepted nothing for a moment, before that");
}

int main(void)
{
	check("without a busy moment there is no limit", (struct pace_times){0}, PACE_NONE);
	check("nor is one told after a moment",
	      (struct pace_times){.output_ns = 60 * MS, .run_ns = 60 * MS}, PACE_NONE);
	check("most of the time is spent waiting for the output",
	      (struct pace_times){.output_ns = 900 * MS, .run_ns = 300 * MS, .format_ns = 300 * MS},
	      PACE_OUTPUT);
	check("most is spent waiting for a CPU",
	      (struct pace_times){
		      .cpu_wait_ns = 700 * MS, .run_ns = 500 * MS, .output_ns = 300 * MS},
	      PACE_CPU);
	check("most is spent in the format",
	      (struct pace_times){
		      .cpu_wait_ns = 300 * MS, .run_ns = 900 * MS, .format_ns = 600 * MS},
	      PACE_FORMAT);
	check("most is spent reading",
	      (struct pace_times){.output_ns = 300 * MS, .run_ns = 900 * MS, .format_ns = 300 * MS},
	      PACE_READING);
	test_waiting();
	struct pace p;
	pace_begin(&p);
	enum pace_limit limit = PACE_NONE;
	/* Time that a host takes from the machine is on no account: half a second may hold too
	 * little. */
	for (int i = 0; i < 60 && limit == PACE_NONE; i++) {
		work(&p, 500 * MS);
		limit = pace_limit(&p);
	}
	/* Where other programs use the CPUs that is the truth. */
	ok(limit == PACE_FORMAT || limit == PACE_CPU,
	   "a format that works all the time is the limit");
	return tap_done();
}
