/* SPDX-License-Identifier: BSD-2-Clause */
/* How long the tracer waits between two polls of rings, for rings that fill as this test says. */
#include "engine/live/interval.h"
#include "tests/tap.h"

#define MS 1000000ull

static struct ring_pace pace;

void ring_source_pace(struct ring_source *s, struct ring_pace *ret)
{
	(void)s;
	*ret = pace;
}

static uint64_t wait_at(struct interval *i, uint64_t lap_ns, double fill, uint64_t now)
{
	pace = (struct ring_pace){.lap_ns = lap_ns, .fill = fill};
	return interval_ns(i, NULL, now);
}

static void test_pace(void)
{
	struct interval i;
	uint64_t ns = 0;
	interval_init(&i);
	for (unsigned n = 0; n < 40; n++)
		ns = wait_at(&i, UINT64_MAX, 0, n * MS);
	is(ns, 2 * MS, "rings without events are polled every 2 ms");
	is(wait_at(&i, 16 * MS, 0.1, 50 * MS), 1 * MS, "a burst shortens the interval at once");
	is(wait_at(&i, 1000, 0.1, 51 * MS), INTERVAL_MIN_NS, "down to its minimum");
	is(wait_at(&i, 4 * MS, 0.1, 52 * MS), INTERVAL_MIN_NS, "the end of the burst does not");
	for (unsigned n = 0; n < 40; n++)
		wait_at(&i, 8 * MS, 0.1, (53 + n) * MS);
	is(wait_at(&i, UINT64_MAX, 0, 100 * MS), 1 * MS, "lengthen it by more than its double");
	is(wait_at(&i, UINT64_MAX, 0, 101 * MS), 2 * MS, "a step");
	is(wait_at(&i, UINT64_MAX, 0, 102 * MS), 2 * MS, "up to its maximum");
}

static void test_awake(void)
{
	struct interval i;
	interval_init(&i);
	ok(wait_at(&i, 100 * MS, 0.25, 1000 * MS), "a ring that was filled by a quarter may wait");
	ok(!wait_at(&i, 100 * MS, 0.26, 1001 * MS), "beyond that there is no wait");
	ok(!wait_at(&i, UINT64_MAX, 0, 1250 * MS), "for a quarter of a second,");
	ok(wait_at(&i, UINT64_MAX, 0, 1251 * MS), "and then there is");
}

int main(void)
{
	test_pace();
	test_awake();
	return tap_done();
}
