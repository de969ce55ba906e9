/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source of rings remembers of files that are closed: losses, and the first damage; what
 * is left out of a ring, and what a lane gives back. */
#include "source/ring/losses.h"

#include <fcntl.h>

#include "source/ring/damages.h"
#include "source/ring/left.h"
#include "stream/loss.h"
#include "tests/tap.h"
#include "tests/unit/ring_forged.h"

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
	const struct ring_loss of_ring = {.process = 3,
					  .since_ns = 5,
					  .ts = 9,
					  .events = 4,
					  .words = 8,
					  .is_of_ring = true,
					  .domain = 2,
					  .seq = 77};
	ok(ring_losses_add(&l, &of_ring) && ring_losses_read(&l, 9, ev, 64) == 1 &&
		   ev[0].domain == 2 && ev[0].seq == 77 && ev[0].flags & EBT_F_SEQ &&
		   ev[0].arg[0] == 4 && ev[0].arg[1] == 8,
	   "one of a ring has its domain, and the ordinal behind it");
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

#define BUDGET (16u << 20)

/* A live ring file of one domain, which began at 1,000 ns, and its lane. */
struct forged {
	int fd;
	struct ebt_ring_file h;
	struct ring_file *file;
	struct ring_lane *lane;
	struct ring_budget budget;
};

/* first_domain: of a file with an extension block; -1: of one without. */
static void forge(struct forged *r, int first_domain)
{
	char path[] = "/tmp/ebtrace-losses-XXXXXX";
	const struct ebt_ring_file h = forged_layout(1);
	struct ebt_cursor *c;
	*r = (struct forged){.fd = mkstemp(path), .h = h, .budget = {.left = BUDGET}};
	if (r->fd < 0)
		abort();
	forged_file(r->fd, &h, first_domain >= 0);
	if (first_domain >= 0)
		forged_first_domain(r->fd, &h, (uint64_t)first_domain);
	if (ebt_cursor_open(path, EBT_RELEASE_OCAML_5_3, &c, NULL) ||
	    ring_file_new(c, path, 3, true, 1000, &r->file) ||
	    ring_lane_new(c, 0, &r->budget, &r->lane))
		abort();
	unlink(path);
}

/* The ring's words are now these, as a look at `ns` finds. */
static void look(struct forged *r, uint64_t head, uint64_t tail, uint64_t ns)
{
	const struct ebt_ring_header h = {.head = head, .tail = tail, .events = tail / 3};
	struct ring_fill fill = {0};
	forged_header(r->fd, &r->h, 0, &h);
	if (!ring_file_update(r->file, ns, &fill))
		abort();
}

static void forged_done(struct forged *r)
{
	ring_lane_free(r->lane);
	ring_file_free(r->file);
	close(r->fd);
}

static void test_left(void)
{
	struct forged r;
	struct ring_loss loss;
	forge(&r, -1);
	look(&r, 0, 300, 5000);
	ok(ring_left_skip(r.file, 0, r.lane, true, &loss) && loss.process == 3 &&
		   loss.words == 300 && loss.since_ns == 1000 && loss.ts == 5000,
	   "words that are left out are lost, since the ring's file began");
	ok(!ring_left_skip(r.file, 0, r.lane, true, &loss), "once");
	r.file->left_ns = 5000;
	look(&r, 0, 450, 9000);
	ok(ring_left_skip(r.file, 0, r.lane, true, &loss) && loss.words == 150 &&
		   loss.since_ns == 5000 && loss.ts == 9000,
	   "those after them, since the report before");
	look(&r, 0, 510, 9500);
	ok(!ring_left_skip(r.file, 0, r.lane, false, &loss), "what is not reported yet");
	look(&r, 90, 600, 9900);
	ok(ring_left_skip(r.file, 0, r.lane, true, &loss) && loss.words == 150,
	   "is part of the next report");
	look(&r, 100, 650, 9990);
	r.file->live = false;
	r.file->before_ns = 4000;
	ok(ring_left_skip(r.file, 0, r.lane, true, &loss) && loss.ts == 4000 &&
		   loss.since_ns == 4000,
	   "of a file at rest, before the end of its process, which no loss begins behind");
	forged_done(&r);
	forge(&r, 256);
	look(&r, 0, 300, 5000);
	ok(ring_left_skip(r.file, 0, r.lane, true, &loss) && loss.is_of_ring && loss.domain == 256,
	   "of a ring that counts its events, of its domain");
	forged_done(&r);
}

/* A file that one look found at rest is only compared at the next ones. */
static void test_rest(void)
{
	struct forged r;
	forge(&r, -1);
	look(&r, 0, 300, 5000);
	is(r.file->looked_ns, 0, "a look that finds words finds no ring at rest");
	look(&r, 0, 300, 6000);
	is(r.file->looked_ns, 6000, "the next one does");
	look(&r, 0, 300, 7000);
	ok(r.file->looked_ns == 6000 && r.file->safe_ns == 6000 && r.file->update_ns == 7000,
	   "then a ring that is still has nothing that is older than the look before");
	look(&r, 0, 420, 8000);
	ok(!r.file->looked_ns && r.file->rings[0].tail == 420, "until it has words again");
	forged_done(&r);
}

/* Holes that wait to be decoded need memory of the budget, as do words. */
static void test_budget(void)
{
	struct forged r;
	int err = 0;
	forge(&r, -1);
	for (uint64_t i = 1; i <= 40 && !err; i++) {
		look(&r, 1000 * i, 1000 * i + 60, 1000 + i);
		err = ring_lane_fetch(r.lane, r.file->cursor, 0, false);
	}
	ok(!err && r.lane->seg_len >= 40 && r.lane->seg_cap > 8 && r.lane->cap > 2048,
	   "a lane has many holes and words: %u and %zu", r.lane->seg_len, r.lane->len);
	ok(r.budget.left < BUDGET, "which take more of the budget");
	forged_done(&r);
	is(r.budget.left, BUDGET, "a lane gives back all that it took");
}

int main(void)
{
	test_losses();
	test_damages();
	test_left();
	test_rest();
	test_budget();
	return tap_done();
}
