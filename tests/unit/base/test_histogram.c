/* SPDX-License-Identifier: BSD-2-Clause */
/* The histogram against a sorted array of the same values. */
#include "base/histogram.h"

#include <math.h>

#include "tests/random.h"
#include "tests/tap.h"

#define VALUES 20000

static uint64_t seed = 42;

static uint64_t random_u64(void)
{
	return random_next(&seed);
}

/* Distributions: what a value is made of. */
static uint64_t uniform(void)
{
	return random_u64();
}
static uint64_t any_magnitude(void)
{
	return random_u64() >> (random_u64() % 64);
}
static uint64_t small(void)
{
	return random_u64() % 5000;
}
static uint64_t pauses(void)
{
	return 1000 + random_u64() % 1000 * (random_u64() % 100 ? 1 : 100000);
}
static uint64_t same(void)
{
	return 123456789;
}
static uint64_t edges(void)
{
	uint64_t power = 1ull << (random_u64() % 64);
	return power + random_u64() % 3 - 1;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Percentiles that differ from the array's by more than 1 in 2048. */
static unsigned wrong_percentiles(const struct histogram *h, const uint64_t *sorted, uint64_t n)
{
	unsigned wrong = 0;
	for (uint32_t parts = 0; parts <= HISTOGRAM_WHOLE; parts += 997) {
		uint64_t rank = 1;
		while ((unsigned __int128)rank * HISTOGRAM_WHOLE < (unsigned __int128)n * parts)
			rank++;
		uint64_t want = sorted[rank - 1], got = histogram_at(h, parts);
		uint64_t off = got > want ? got - want : want - got;
		wrong += off > want / 2048;
	}
	return wrong;
}

static void check_moments(const struct histogram *h, const uint64_t *v, uint64_t n,
			  const char *name)
{
	long double sum = 0, squares = 0;
	for (uint64_t i = 0; i < n; i++)
		sum += v[i];
	long double mean = sum / n;
	for (uint64_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	double want = (double)sqrtl(squares / n);
	ok(fabs(histogram_mean(h) - (double)mean) <= 1e-9 * (double)mean, "%s: mean", name);
	ok(fabs(histogram_stddev(h) - want) <= 1e-6 * want + 1e-6, "%s: standard deviation", name);
	ok(h->count == n && h->min == v[0] && h->max == v[n - 1], "%s: count, min, max", name);
}

static void check(const char *name, uint64_t (*draw)(void))
{
	static uint64_t v[VALUES];
	struct histogram h = {0}, counted = {0}, halves[2];
	memset(halves, 0, sizeof(halves));
	int err = 0;
	for (unsigned i = 0; i < VALUES; i++) {
		v[i] = draw();
		err |= histogram_add(&h, v[i]) | histogram_add(&halves[i % 3 == 0], v[i]);
		if (i % 2)
			err |= histogram_count(&counted, v[i], 1);
		else if (histogram_place(&counted, v[i]))
			histogram_count_at(&counted, histogram_place(&counted, v[i]), v[i], 1);
	}
	qsort(v, VALUES, sizeof(*v), by_value);
	is(err, 0, name);
	is(wrong_percentiles(&h, v, VALUES), 0, "percentiles are within 1 in 2048 of nearest rank");
	is(histogram_at(&h, 0), v[0], "0 % is the minimum");
	is(histogram_at(&h, HISTOGRAM_WHOLE), v[VALUES - 1], "100 % is the maximum");
	check_moments(&h, v, VALUES, name);
	is(wrong_percentiles(&counted, v, VALUES), 0, "those of a quick count are the same");
	ok(counted.count == h.count && counted.sum == h.sum && counted.min == h.min &&
		   counted.max == h.max,
	   "so are its count, sum, min and max");
	histogram_done(&counted);
	is(histogram_merge(&halves[0], &halves[1]), 0, "two halves are merged");
	is(wrong_percentiles(&halves[0], v, VALUES), 0, "the merged percentiles are the same");
	check_moments(&halves[0], v, VALUES, "merged");
	histogram_clear(&h);
	is(h.count + histogram_at(&h, 500000), 0, "cleared, it is empty");
	is(histogram_add(&h, v[7]), 0, "and takes values again");
	is(histogram_at(&h, 500000), v[7], "the only value is every percentile");
	/* Of each page of buckets of small values, and of larger ones. */
	for (uint64_t i = 0; i < 100000; i++)
		err |= histogram_add(&h, i);
	histogram_clear(&h);
	for (uint64_t i = 1; i <= 9; i++)
		err |= histogram_add(&h, i * 100000);
	uint64_t half = histogram_at(&h, 500000), fifth = histogram_at(&h, 200000);
	ok(h.min == 100000 && h.max == 900000, "nor does its minimum or maximum");
	ok(!err && half > 499000 && half < 501000 && fifth > 199000 && fifth < 201000,
	   "no value from before it was cleared counts");
	histogram_done(&h);
	histogram_done(&halves[0]);
	histogram_done(&halves[1]);
}

/* Coarse ones: the error is bounded, memory too, and they mix with others by value. */
static void test_coarse(void)
{
	struct histogram h = {.coarse = true}, sum = {0}, fine = {0};
	bool near = true;
	for (uint64_t v = 1; v < UINT64_MAX / 3; v = v * 3 + 1) {
		struct histogram one = {.coarse = true};
		uint64_t others[] = {v, UINT64_MAX, 0};
		for (unsigned i = 0; i < 3; i++)
			if (histogram_add(&one, others[i]))
				abort();
		uint64_t got = histogram_at(&one, HISTOGRAM_WHOLE / 2);
		near &= (got > v ? got - v : v - got) <= v / 64;
		histogram_done(&one);
	}
	ok(near, "a percentile is off by 1 part in 64 at most");
	for (uint64_t v = 1; v <= 1000; v++)
		if (histogram_add(&h, v * v * v) || histogram_add(&fine, v * v * v))
			abort();
	ok(!histogram_merge(&sum, &h) && sum.coarse,
	   "an empty one becomes coarse with what is added");
	is(histogram_at(&sum, 990000), histogram_at(&h, 990000), "and is equal to it");
	is(sum.max, 1000000000, "the maximum is exact");
	ok(!histogram_merge(&sum, &fine) && sum.count == 2000,
	   "one that is not coarse is added by value");
	is(histogram_at(&sum, 990000), histogram_at(&h, 990000),
	   "which changes no percentile here");
	ok(!histogram_merge(&fine, &h) && fine.count == 2000 && !fine.coarse, "and the other way");
	histogram_clear(&h);
	ok(h.coarse && !h.count, "one that is cleared stays coarse");
	histogram_done(&h);
	histogram_done(&sum);
	histogram_done(&fine);
}

int main(void)
{
	test_coarse();
	struct histogram h = {0}, none = {0}, copy = {0};
	ok(!histogram_at(&h, 500000) && histogram_mean(&h) == 0 && histogram_stddev(&h) == 0,
	   "an empty one says 0");
	is(histogram_merge(&h, &none), 0, "nothing merged into nothing");
	for (uint64_t i = 0; i < 3000; i++)
		histogram_add(&h, i);
	is(histogram_at(&h, 500000), 1499, "small values are exact");
	is(histogram_at(&h, 333), 0, "the rank is the smallest that reaches the share");
	is(histogram_at(&h, 334), 1, "and the next one beyond it");
	histogram_add(&h, UINT64_MAX);
	is(h.max == UINT64_MAX && histogram_at(&h, HISTOGRAM_WHOLE) == UINT64_MAX, 1,
	   "the greatest value of all is counted");
	ok(!histogram_copy(&copy, &h) && copy.count == h.count && copy.sum == h.sum &&
		   copy.min == h.min && copy.max == h.max && copy.mean == h.mean &&
		   copy.m2 == h.m2 && histogram_at(&copy, 334) == 1,
	   "a copy is the same to the last bit");
	histogram_add(&copy, 5);
	is(h.count, 3001, "and its own");
	histogram_done(&copy);
	histogram_done(&h);
	check("uniform", uniform);
	check("any magnitude", any_magnitude);
	check("small", small);
	check("pauses", pauses);
	check("all the same", same);
	check("around powers of two", edges);
	return tap_done();
}
