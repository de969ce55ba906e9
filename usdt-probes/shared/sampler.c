// SPDX-License-Identifier: BSD-2-Clause
#include "sampler.h"

#include <string.h>

#define LN2 0.693147180559945309417
/* A longer distance has the probability 0 at every rate that samples anything in a process's
 * life. */
#define DISTANCE_MAX (INT64_C(1) << 61)
/* With more samples expected in one allocation, their number is drawn instead of the distances. */
#define SAMPLES_DRAWN 1024

/* splitmix64: one word of state, and any two seeds give unrelated sequences. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}
static uint64_t next_random(struct ebt_sampler *s)
{
	return mix(s->random += 0x9e3779b97f4a7c15ull);
}
/* In the open interval (0, 1). */
static double next_uniform(struct ebt_sampler *s)
{
	return ((double)(next_random(s) >> 11) + 0.5) * 0x1p-53;
}

/* ln((1 + t) / (1 - t)), for |t| <= 0.172; the relative error is below 1e-13. */
static double ln_ratio(double t)
{
	double tt = t * t, sum = 0;
	for (int k = 17; k >= 1; k -= 2)
		sum = sum * tt + 1.0 / k;
	return 2 * t * sum;
}

/* Of a normal number x > 0. libm is not in every program, and the library needs nothing but
 * libc. */
static double ln(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	int exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	double m;
	memcpy(&m, &bits, sizeof(m)); /* 1 <= m < 2 */
	if (m > 1.41421356237309505) {
		m *= 0.5;
		exponent++;
	}
	return exponent * LN2 + ln_ratio((m - 1) / (m + 1));
}

/* Of 1 - p, exact for small p too, where 1 - p is rounded. */
static double ln_one_minus(double p)
{
	return p < 0.25 ? ln_ratio(-p / (2 - p)) : ln(1 - p);
}

/* Of x >= 1, by Newton's method from above. */
static double root(double x)
{
	double r = x, last;
	do {
		last = r;
		r = (r + x / r) * 0.5;
	} while (r < last);
	return last;
}

/* Words before the next sampled one. */
static int64_t draw_distance(struct ebt_sampler *s)
{
	if (s->rate >= 1)
		return 0;
	double words = ln(next_uniform(s)) * s->per_ln;
	return words < (double)DISTANCE_MAX ? (int64_t)words : DISTANCE_MAX;
}

static void set_distance(struct ebt_sampler *s, int64_t words)
{
	s->left = words < EBT_SAMPLER_STRIDE ? words : EBT_SAMPLER_STRIDE;
	s->rest = words - s->left;
}

/*
 * Samples among so many words that `mean` of them are expected: binomial, as the normal
 * distribution with the first correction of its skewness; the error of a probability is of the
 * order 1 / mean. 16 random words have a binomial number of bits set, close to normal.
 */
static uint64_t draw_many(struct ebt_sampler *s, uint64_t words, double mean)
{
	if (s->rate >= 1)
		return words;
	int bits = 0;
	for (int i = 0; i < 16; i++)
		bits += __builtin_popcountll(next_random(s));
	double z = (bits - 512 + next_uniform(s) - 0.5) / 16;
	double x = mean + root(mean * (1 - s->rate)) * z + (1 - 2 * s->rate) * (z * z - 1) / 6;
	return x < 0 ? 0 : x >= (double)words ? words : (uint64_t)(x + 0.5);
}

void ebt_sampler_init(struct ebt_sampler *s, double rate, uint64_t seed)
{
	*s = (struct ebt_sampler){.rate = rate > 0 ? rate : 0, .random = mix(seed)};
	if (s->rate > 0 && s->rate < 1)
		s->per_ln = 1 / ln_one_minus(rate);
	set_distance(s, s->rate > 0 ? draw_distance(s) : DISTANCE_MAX);
}

__attribute__((noinline, cold)) uint64_t ebt_sampler_draw(struct ebt_sampler *s)
{
	int64_t left = s->left + s->rest;
	uint64_t samples = 0;
	if (s->rate >= 1 && left < 0) {
		samples = (uint64_t)-left;
		left = 0;
	} else if (s->rate > 0 && left < 0) {
		/* The sampled word is passed; so are these behind it, which may have samples
		 * too. */
		uint64_t behind = (uint64_t)(-left - 1);
		double mean = (double)behind * (s->rate < 1 ? s->rate : 1);
		samples = 1;
		if (mean > SAMPLES_DRAWN) {
			samples += draw_many(s, behind, mean);
			left = draw_distance(s);
		} else {
			for (left += 1 + draw_distance(s); left < 0; samples++)
				left += 1 + draw_distance(s);
		}
	}
	set_distance(s, left < 0 ? DISTANCE_MAX : left);
	return samples;
}
