/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampler against the distributions that define it, with fixed seeds: it is deterministic. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/tap.h"
#include "usdt-probes/shared/sampler.h"

#define DRAWS 10000000
#define BINS  100

/* Words up to and with the next sampled one, beyond all strides. */
static int64_t next_distance(struct ebt_sampler *s)
{
	int64_t words = s->left + s->rest + 1;
	s->left = -1;
	s->rest = 0;
	ebt_sampler_draw(s);
	return words;
}

/* Of observed counts; bins of which less than 5 are expected are added to the next one. */
static double chi_square(const double *expected, const uint64_t *seen, int bins, int *ret_degrees)
{
	double sum = 0, e = 0, n = 0;
	*ret_degrees = -1;
	for (int i = 0; i < bins; i++) {
		e += expected[i];
		n += (double)seen[i];
		if (e < 5)
			continue;
		sum += (n - e) * (n - e) / e;
		++*ret_degrees;
		e = n = 0;
	}
	return sum;
}

/* A fair sampler exceeds `high` once in some million seeds, and is below `low` as rarely. */
static void check_chi(double chi, int degrees, const char *what, double rate)
{
	double sd = sqrt(2.0 * degrees);
	ok(degrees > 4 && fabs(chi - degrees) < 5 * sd, "%s at the rate %g: chi-square %.1f of %d",
	   what, rate, chi, degrees);
}

/* Bins of about equal probability; a distance of k words has (1 - p)^(k - 1) p. */
static void test_distances(double rate)
{
	static uint64_t seen[BINS];
	double expected[BINS], edge[BINS + 1];
	struct ebt_sampler s;
	ebt_sampler_init(&s, rate, 42);
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < BINS; i++)
		edge[i] = floor(log1p(-(double)i / BINS) / log1p(-rate));
	for (int i = 0; i < BINS; i++)
		expected[i] = DRAWS * (exp(edge[i] * log1p(-rate)) -
				       (i + 1 < BINS ? exp(edge[i + 1] * log1p(-rate)) : 0));
	double per_bin = log1p(-rate) * BINS, mean = 0;
	for (int i = 0; i < DRAWS; i++) {
		int64_t words = next_distance(&s) - 1;
		int bin = (int)(-expm1((double)words * per_bin / BINS) * BINS);
		while (bin + 1 < BINS && (double)words >= edge[bin + 1])
			bin++;
		while ((double)words < edge[bin])
			bin--;
		seen[bin]++;
		mean += (double)(words + 1) / DRAWS;
	}
	int degrees;
	double chi = chi_square(expected, seen, BINS, &degrees);
	check_chi(chi, degrees, "10^7 distances", rate);
	ok(fabs(mean * rate - 1) < 5 / sqrt(DRAWS), "their mean is 1 / rate: %.6g words", mean);
}

static void test_every_word(void)
{
	struct ebt_sampler s;
	uint64_t wrong = 0;
	ebt_sampler_init(&s, 1, 42);
	for (int i = 0; i < DRAWS; i++)
		wrong += next_distance(&s) != 1;
	is(wrong, 0, "the rate 1 samples every word, 10^7 draws");
	is(ebt_sampler_count(&s, 17), 17, "all words of an allocation are its samples");
	is(ebt_sampler_count(&s, UINT64_C(1) << 61), UINT64_C(1) << 61, "also of a huge one");
	is(ebt_sampler_count(&s, 0), 0, "an allocation without words has no samples");
}

/* Counts of samples of allocations of `words` words against the binomial distribution. */
static void test_counts(uint64_t words, double rate, int draws)
{
	enum { MAX = 4096 };
	static uint64_t seen[MAX];
	static double expected[MAX];
	struct ebt_sampler s;
	ebt_sampler_init(&s, rate, 7);
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < draws; i++) {
		uint64_t n = ebt_sampler_count(&s, words);
		seen[n < MAX ? n : MAX - 1]++;
	}
	double n = (double)words;
	for (int k = 0; k < MAX; k++)
		expected[k] =
			k > n ? 0
			      : draws * exp(lgamma(n + 1) - lgamma(k + 1.0) - lgamma(n - k + 1) +
					    k * log(rate) + (n - k) * log1p(-rate));
	int degrees;
	double chi = chi_square(expected, seen, MAX, &degrees);
	char what[80];
	snprintf(what, sizeof(what), "samples of allocations of %llu words",
		 (unsigned long long)words);
	check_chi(chi, degrees, what, rate);
}

/* How the words are divided into allocations changes nothing. */
static void test_division(void)
{
	struct ebt_sampler one, many;
	uint64_t n_one = 0, n_many = 0, unbounded = 0;
	ebt_sampler_init(&one, 1e-5, 3);
	ebt_sampler_init(&many, 1e-5, 3);
	for (int i = 0; i < 30000; i++) {
		n_one += ebt_sampler_count(&one, 1000);
		for (uint64_t words = 1000, part; words; words -= part) {
			part = words < 37 ? words : 37;
			n_many += ebt_sampler_count(&many, part);
			unbounded += many.left > EBT_SAMPLER_STRIDE;
		}
	}
	is(n_one, n_many, "the same words have the same samples however they are divided");
	ok(n_one > 200 && n_one < 400, "about 300: %llu", (unsigned long long)n_one);
	is(unbounded, 0, "the slow path runs at least once a stride");
}

static void test_limits(void)
{
	struct ebt_sampler s;
	static const double none[] = {0, -1, -INFINITY, NAN};
	for (int i = 0; i < 4; i++) {
		uint64_t n = 0;
		ebt_sampler_init(&s, none[i], 1);
		for (int k = 0; k < 1000; k++)
			n += ebt_sampler_count(&s, UINT64_C(1) << 61);
		ok(n == 0, "the rate %g samples nothing", none[i]);
	}
	ebt_sampler_init(&s, INFINITY, 1);
	is(ebt_sampler_count(&s, 5), 5, "a rate above 1 is 1");
	ebt_sampler_init(&s, 1e-300, 1);
	is(ebt_sampler_count(&s, UINT64_C(1) << 60), 0, "a tiny rate has a distance in range");
	ebt_sampler_init(&s, 1e-6, 1);
	double n = (double)ebt_sampler_count(&s, UINT64_C(1) << 60);
	double mean = 1e-6 * 0x1p60;
	ok(fabs(n - mean) < 6 * sqrt(mean), "2^60 words have 1e-6 of them: %.0f", n);
}

int main(void)
{
	test_every_word();
	test_distances(1e-2);
	test_distances(1e-4);
	test_distances(1e-6);
	test_counts(10, 0.05, 1000000);
	test_counts(1000, 0.5, 20000);
	test_counts(4000, 0.5, 300000);
	test_counts(200000, 0.01, 300000);
	test_division();
	test_limits();
	return tap_done();
}
