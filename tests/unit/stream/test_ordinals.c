// SPDX-License-Identifier: BSD-2-Clause
/* The ordinals of a ring against an array that knows each of them. */
#include "stream/ordinals.h"
#include "tests/tap.h"

#define ORDINALS 30000

static uint32_t state = 1;

static uint32_t draw(uint32_t n)
{
	state = state * 1103515245u + 12345u;
	return (state >> 12) % n;
}

/* The oldest ordinal of the window, its neighbours, and counts that have wrapped. */
static void test_window(uint64_t next)
{
	struct ordinals o = {.unbroken = next};
	ordinals_skip(&o, next, 2 * ORDINALS_WINDOW);
	next += 2 * ORDINALS_WINDOW;
	uint32_t oldest = (uint32_t)next - ORDINALS_WINDOW;
	ok(!ordinals_fill(&o, next, oldest - 1), "one that is older than the window is lost");
	ok(ordinals_fill(&o, next, oldest) && !ordinals_fill(&o, next, oldest),
	   "the oldest one of the window is delivered, once");
	ok(ordinals_fill(&o, next, (uint32_t)next - 1) &&
		   !ordinals_fill(&o, next, (uint32_t)next - 1),
	   "and so is the newest");
}

int main(void)
{
	static bool delivered[ORDINALS];
	struct ordinals o = {0};
	uint64_t next = 0;
	unsigned wrong = 0, filled = 0, too_old = 0;
	while (next < ORDINALS - 6000) {
		if (!draw(3)) {
			uint32_t missing = 1 + draw(draw(50) ? 9 : 5000);
			ordinals_skip(&o, next, missing);
			next += missing;
		}
		for (uint32_t run = draw(200); run; run--)
			delivered[next++] = true;
		for (uint32_t tries = draw(50); next && tries; tries--) {
			uint32_t back = 1 + draw(next < 6000 ? (uint32_t)next : 6000);
			uint32_t seq = (uint32_t)next - back;
			bool expected = !delivered[seq] && back <= ORDINALS_WINDOW;
			wrong += ordinals_fill(&o, next, seq) != expected;
			delivered[seq] |= expected;
			filled += expected;
			too_old += back > ORDINALS_WINDOW;
		}
	}
	is(wrong, 0,
	   "a skipped ordinal is delivered once, and not when it is older than the window");
	test_window(0);
	test_window(UINT32_MAX - ORDINALS_WINDOW);
	ok(filled > 50 && too_old > 50, "both cases occurred");
	return tap_done();
}
