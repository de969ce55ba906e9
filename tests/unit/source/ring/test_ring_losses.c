/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source of rings remembers of files that are closed: losses, and the first damage. */
#include "source/ring/losses.h"

#include "source/ring/damages.h"
#include "stream/loss.h"
#include "tests/tap.h"

static void test_losses(void)
{
	struct ring_losses l = {0};
	struct ebt_event ev[64];
	for (uint64_t i = 1; i <= 40; i++) {
		struct ring_loss loss = {.process = (uint32_t)i,
					 .since_ns = 10 * i - 9,
					 .ts = i == 5 ? 1 : 10 * i,
					 .events = i,
					 .words = 2 * i};
		if (!ring_losses_add(&l, &loss))
			abort();
	}
	is(ring_losses_read(&l, 9, ev, 64), 0, "a loss waits for its time");
	is(ring_losses_read(&l, 10, ev, 64), 1, "at which it is emitted");
	ok(ev[0].kind == EBT_LOST && ev[0].process == 1 && ev[0].arg[0] == 1 && ev[0].arg[1] == 2 &&
		   EBT_LOST_SINCE(&ev[0]) == 1 && ev[0].domain == EBT_NO_DOMAIN,
	   "with its process, its events and words, and since when");
	is(ring_losses_read(&l, UINT64_MAX, ev, 7), 7, "as many as there is room for");
	ok(ev[3].process == 5 && ev[3].ts == 40, "none is before the one that was added before it");
	is(ring_losses_read(&l, UINT64_MAX, ev, 64), 32, "and then the rest");
	is(ev[31].process, 40, "to the last");
	ring_losses_done(&l);
}

static void test_damages(void)
{
	static const uint32_t numbers[] = {7, 3, 9, 1, 5};
	struct ring_damages d = {0};
	unsigned wrong = 0;
	for (unsigned i = 0; i < 5; i++) {
		struct ring_damage damage = {
			.name = strdup("a ring"), .count = 1, .offset = numbers[i]};
		if (ring_damages_keep(&d, numbers[i], &damage))
			abort();
	}
	for (uint32_t from = 0; from <= 10; from++) {
		struct file_damage best = {0};
		uint32_t want = from <= 9 ? from | 1 : 0;
		ring_damages_pick_kept(&d, &best, from);
		wrong += best.damage.count != (want != 0) || best.number != want ||
			 best.damage.offset != want;
	}
	is(wrong, 0, "the next damaged file is found, in the order of their numbers");
	struct file_damage best = {0};
	ring_damages_pick(&best, 2, 4, &(struct ring_damage){.count = 1});
	ring_damages_pick_kept(&d, &best, 2);
	is(best.number, 3, "the first of those that are open and those that are closed");
	ring_damages_pick(&best, 2, 2, &(struct ring_damage){.count = 0});
	is(best.number, 3, "a file without damage is none");
	ring_damages_done(&d);
}

int main(void)
{
	test_losses();
	test_damages();
	return tap_done();
}
