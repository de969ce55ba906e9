/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of several processes' numbers, field by field, and the rules by which counts become
 * figures. */
#include "report/parts/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

struct field {
	const char *name;
	size_t offset;
	bool is_most; /* of a sum the largest one */
};
#define SUM(f)                                              \
	{                                                   \
#f, offsetof(struct stat_numbers, f), false \
	}
#define MOST(f)                                            \
	{                                                  \
#f, offsetof(struct stat_numbers, f), true \
	}

static const struct field fields[] = {
	SUM(elapsed_ns),
	SUM(gc_ns),
	SUM(uncovered_ns),
	SUM(usage.user_ns),
	SUM(usage.system_ns),
	SUM(usage.peak_rss_bytes),
	SUM(pauses.cut[STAT_CUT_START]),
	SUM(pauses.cut[STAT_CUT_LOSS]),
	SUM(pauses.cut[STAT_CUT_END]),
	SUM(pauses.cut[STAT_CUT_LATE]),
	MOST(pauses.cut_max_ns),
	SUM(phases[0].begun),
	SUM(phases[0].count),
	SUM(phases[0].cut),
	SUM(phases[0].total_ns),
	SUM(phases[0].self_ns),
	MOST(phases[0].max_ns),
	SUM(phases[PHASE_ROWS - 1].begun),
	SUM(phases[PHASE_ROWS - 1].self_ns),
	SUM(minors),
	SUM(majors),
	SUM(compactions),
	SUM(minor_words.words),
	SUM(promoted_words.words),
	SUM(major_words.words),
	SUM(heap.words),
	SUM(heap_max.words),
	SUM(lost.events),
	SUM(lost.words),
	SUM(lost.history_events),
	SUM(lost.history_words),
	SUM(lost.uncounted),
	SUM(lost.history_uncounted),
	SUM(lost.unwatched),
	SUM(lost.unwatched_ns),
	SUM(unmatched),
	SUM(late),
	SUM(damaged),
};
#define FIELDS (sizeof(fields) / sizeof(*fields))

static uint64_t *at(struct stat_numbers *n, const struct field *f)
{
	return (uint64_t *)((char *)n + f->offset);
}

/* Each field with a value of its own. */
static struct stat_numbers *numbers_from(uint64_t first)
{
	struct stat_numbers *n = calloc(1, sizeof(*n));
	if (!n)
		abort();
	for (size_t i = 0; i < FIELDS; i++)
		*at(n, &fields[i]) = first + i;
	n->minor_words.seen = n->promoted_words.seen = true;
	return n;
}

static void test_sum(void)
{
	struct stat_numbers *sum = calloc(1, sizeof(*sum));
	struct stat_numbers *one = numbers_from(1000), *other = numbers_from(10);
	other->usage.known = other->usage.has_peak_rss = other->heap.seen = true;
	if (!sum || histogram_add(&one->pauses.whole, 5) ||
	    histogram_add(&other->pauses.whole, 7) || stat_numbers_add(sum, one) ||
	    stat_numbers_add(sum, other))
		abort();
	for (size_t i = 0; i < FIELDS; i++)
		is(*at(sum, &fields[i]), fields[i].is_most ? 1000 + i : 1010 + 2 * i,
		   fields[i].name);
	ok(sum->usage.known && sum->usage.has_peak_rss && sum->heap.seen && !sum->major_words.seen,
	   "what one of them has is known");
	ok(sum->pauses.whole.count == 2 && sum->pauses.whole.max == 7, "pauses of both are kept");
	stat_numbers_done(sum);
	stat_numbers_done(one);
	stat_numbers_done(other);
	free(sum);
	free(one);
	free(other);
}

static uint32_t row_of(enum traits_role role)
{
	uint32_t row = 0;
	while (row < PHASE_ROWS && !(phases_at(row)->roles & role))
		row++;
	return row;
}

static void test_collections(void)
{
	struct stat_numbers *n = calloc(1, sizeof(*n));
	if (!n)
		abort();
	n->phases[row_of(TRAITS_MINOR)].begun = 8;
	n->lane_minors = 3;
	is(stat_numbers_minors(n), 8, "each domain has its own minor collections");
	n->minor_is_shared = true;
	is(stat_numbers_minors(n), 3, "or all have them together: those of the one with most");
	n->phases[row_of(TRAITS_MINOR_ONCE)].begun = 2;
	is(stat_numbers_minors(n), 3, "if more than those that one does for all");
	n->phases[row_of(TRAITS_MINOR_ONCE)].begun = 4;
	is(stat_numbers_minors(n), 4, "else these");
	n->minor_is_shared = false;
	is(stat_numbers_minors(n), 4, "whatever is known of the language");
	n->minors = 1;
	is(stat_numbers_minors(n), 1, "of a sum its own");
	n->phases[row_of(TRAITS_MAJOR)].begun = 6;
	is(stat_numbers_majors(n), 6, "major collections are counted");
	n->phases[row_of(TRAITS_SLICE)].begun = 1;
	is(stat_numbers_majors(n), 0, "where they have slices, their cycles are");
	n->majors = 2;
	is(stat_numbers_majors(n), 2, "as many as have ended");
	free(n);
}

static void test_words(void)
{
	struct stat_numbers n = {.minor_bytes = {true, 80}, .promoted_bytes = {true, 16}};
	struct stat_words w = stat_numbers_minor_words(&n), p = stat_numbers_promoted_words(&n);
	ok(w.seen && w.words == 10 && p.seen && p.words == 2, "bytes are words of eight");
	n.minor_words = (struct stat_words){true, 3};
	n.promoted_words = (struct stat_words){true, 1};
	w = stat_numbers_minor_words(&n);
	p = stat_numbers_promoted_words(&n);
	ok(w.words == 3 && p.words == 1, "words that were counted come first");
	ok(stat_numbers_percent(1, 4) == 25 && stat_numbers_percent(5, 4) == 100 &&
		   stat_numbers_percent(4, 4) == 100 && stat_numbers_percent(1, 0) == 0,
	   "a share is at most 100 in 100, and 0 of nothing");
}

static void test_losses(void)
{
	struct stat_loss l = {0};
	const struct ebt_event lost[] = {
		{.arg = {3, 20}},
		{.arg = {EBT_LOST_UNCOUNTED, 100}},
		{.arg = {5, 1000}, .flags = EBT_F_HISTORY},
		{.arg = {EBT_LOST_UNCOUNTED, 10000}, .flags = EBT_F_HISTORY},
	};
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		stat_loss_count(&l, &lost[i]);
	ok(l.events == 3 && l.words == 120 && l.uncounted == 1, "losses are counted");
	ok(l.history_events == 5 && l.history_words == 11000 && l.history_uncounted == 1,
	   "apart from what was before");
}

int main(void)
{
	test_sum();
	test_collections();
	test_words();
	test_losses();
	return tap_done();
}
