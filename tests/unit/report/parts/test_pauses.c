/* SPDX-License-Identifier: BSD-2-Clause */
/* The pauses of a lane that may have missed the begin of a longer one: held, counted, dropped. */
#include "report/parts/pauses.h"

#include "tests/tap.h"

static struct stat_pauses sum;
static struct pauses p;

static void begin(enum stat_cut cause, uint64_t now_ns)
{
	pauses_done(&p);
	histogram_done(&sum.whole);
	sum = (struct stat_pauses){0};
	p = (struct pauses){.sum = &sum};
	pauses_unsure(&p, now_ns, cause);
}

/* Pauses of a microsecond, of which the last ends at now_ns. */
static void add(unsigned pauses, uint64_t now_ns)
{
	while (pauses--)
		if (pauses_add(&p, 1000, STAT_CUTS, now_ns, NULL))
			abort();
}

static void test_held(void)
{
	begin(STAT_CUT_LOSS, 5000);
	add(3, 9000);
	ok(!p.count && !sum.whole.count, "behind a loss pauses do not count yet");
	pauses_orphan(&p, 8000);
	ok(!sum.whole.count && sum.cut[STAT_CUT_LOSS] == 1 && sum.cut_max_ns == 8000,
	   "they were parts of the one whose end comes, which the loss has cut");
	add(2, 10000);
	pauses_orphan(&p, 9000);
	ok(!sum.whole.count && sum.cut[STAT_CUT_LOSS] == 1 && sum.cut_max_ns == 9000,
	   "as are those of before the end of a phase around that");
	add(4, 11000);
	if (pauses_settle(&p))
		abort();
	ok(p.count == 4 && sum.whole.count == 4, "those behind it count when no end can come");
	add(1, 12000);
	is(sum.whole.count, 5, "and from then on each counts at once");
}

/* It is hardly possible that so much was inside of one pause. */
static void test_limits(void)
{
	begin(STAT_CUT_START, 5000);
	add(1, 5000 + PAUSES_HELD_NS);
	ok(!sum.whole.count, "a pause is held for half a minute");
	add(1, 5001 + PAUSES_HELD_NS);
	ok(sum.whole.count == 2 && p.certainty == PAUSES_SURE, "then all count");
	begin(STAT_CUT_START, 5000);
	add(PAUSES_HELD_MAX, 6000);
	ok(!sum.whole.count && p.held_count == PAUSES_HELD_MAX, "1,024 pauses are held");
	add(1, 6000);
	ok(sum.whole.count == PAUSES_HELD_MAX + 1 && p.certainty == PAUSES_SURE,
	   "with one more all of them count");
	ok(p.held_cap <= 2 * PAUSES_HELD_MAX && !p.held_count, "and no more take memory");
}

/* What made the lane unsure has cut a pause that began before it. */
static void test_cut(void)
{
	begin(STAT_CUT_LOSS, 5000);
	if (pauses_add(&p, 700, STAT_CUT_LOSS, 5000, NULL))
		abort();
	pauses_orphan(&p, 3000);
	ok(sum.cut[STAT_CUT_LOSS] == 1 && sum.cut_max_ns == 3000,
	   "a pause that a loss cuts is the one whose end comes behind it");
	begin(STAT_CUT_START, 5000);
	if (pauses_add(&p, 700, STAT_CUT_LATE, 6000, NULL))
		abort();
	pauses_orphan(&p, 3000);
	ok(sum.cut[STAT_CUT_LATE] == 1 && sum.cut[STAT_CUT_START] == 1,
	   "one that is cut by something else is another one");
	const uint64_t ns[] = {500, 900, 800};
	begin(STAT_CUT_LOSS, 5000);
	for (int i = 0; i < 3; i++)
		if (pauses_add(&p, ns[i], STAT_CUT_LOSS, 5000, NULL))
			abort();
	ok(sum.cut[STAT_CUT_LOSS] == 3 && sum.cut_max_ns == 900,
	   "of those that are cut the longest is known");
	pauses_orphan(&p, 600);
	ok(sum.cut_max_ns == 900, "also behind the end of a shorter one");
}

int main(void)
{
	test_held();
	test_limits();
	test_cut();
	pauses_done(&p);
	histogram_done(&sum.whole);
	return tap_done();
}
