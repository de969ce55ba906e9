/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/amount.h"

#include <math.h>

#define Z    1.959963984540054 /* of a normal distribution: 95 % lie within */
#define TAIL 0.025	       /* on each side */

/* The probability of at most `samples` samples of n words. */
static double at_most(uint64_t samples, double n, double rate)
{
	if (n <= (double)samples)
		return 1;
	/* The terms by their logarithms: the first may be too small for a double. */
	double odds = log(rate) - log1p(-rate), term = n * log1p(-rate), sum = exp(term);
	for (uint64_t k = 0; k < samples; k++) {
		term += log((n - (double)k) / (double)(k + 1)) + odds;
		sum += exp(term);
	}
	return sum < 1 ? sum : 1;
}

/* The n above `from` at which the probability of at most `samples` samples falls to p. */
static double where_falls(uint64_t samples, double rate, double p, double from)
{
	double low = from, high = (from + 1) * 2;
	while (at_most(samples, high, rate) > p && high < 1e300) {
		low = high;
		high *= 2;
	}
	for (int i = 0; i < 60 && high - low > 1e-9 * high; i++) {
		double middle = (low + high) / 2;
		*(at_most(samples, middle, rate) > p ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

struct mem_amount mem_words(uint64_t samples, double rate)
{
	double s = (double)samples, rest = 1 - rate;
	struct mem_amount a = {s / rate, s, s};
	if (rest <= 0)
		return a;
	if (samples <= MEM_EXACT_SAMPLES) {
		a.high = where_falls(samples, rate, TAIL, s);
		a.low = samples ? where_falls(samples - 1, rate, 1 - TAIL, s - 1) : 0;
		/* The interval is of whole words, and each sample is one. */
		a.low = a.low > s ? a.low : s;
		return a;
	}
	/* The n whose distance from the samples is Z standard deviations: (s - n rate)^2 = Z^2 n
	 * rate rest. */
	double c = Z * Z * rest, width = sqrt(c * (4 * s + c));
	a.low = (2 * s + c - width) / (2 * rate);
	a.low = a.low > s ? a.low : s;
	a.high = (2 * s + c + width) / (2 * rate);
	return a;
}

struct mem_amount mem_scale_amount(const struct mem_scale *scale, uint64_t samples)
{
	double unit = scale->word_bytes, words = (double)samples * mem_scale_words(scale);
	double rate = scale->each > 1 ? scale->rate / scale->each : scale->rate;
	if (!(rate > 0) || scale->doubt == MEM_ANY)
		return (struct mem_amount){words * unit, NAN, NAN};
	struct mem_amount a = {words, words, words};
	if (!scale->weighted && rate == scale->rate) {
		a = mem_words(samples, rate);
	} else if (rate < 1) {
		/* The interval of as many samples as stand for so many words. */
		struct mem_amount around =
			mem_words((uint64_t)llround(fmin(words * rate, 0x1p62)), rate);
		a.low = fmin(around.low, words);
		a.high = fmax(around.high, words);
	}
	if (scale->doubt == MEM_AT_LEAST)
		a.high = INFINITY;
	return (struct mem_amount){a.bytes * unit, a.low * unit, a.high * unit};
}

static void add_rest(struct mem_sum *s, const struct mem_part *p)
{
	struct mem_amount a = mem_scale_amount(&p->scale, p->samples);
	s->bytes += a.bytes;
	s->below += (a.bytes - a.low) * (a.bytes - a.low);
	s->above += (a.high - a.bytes) * (a.high - a.bytes);
}

static uint64_t add_samples(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void mem_sum_add(struct mem_sum *s, const struct mem_scale *scale, uint64_t samples)
{
	struct mem_part added = {*scale, samples};
	for (uint32_t i = 0; i < s->parts; i++) {
		struct mem_part *p = &s->part[i];
		if (!mem_scale_same(&p->scale, scale))
			continue;
		p->samples = add_samples(p->samples, samples);
		return;
	}
	if (s->parts < MEM_SUM_PARTS)
		s->part[s->parts++] = added;
	else
		add_rest(s, &added);
}

void mem_sum_merge(struct mem_sum *s, const struct mem_sum *other)
{
	for (uint32_t i = 0; i < other->parts; i++)
		mem_sum_add(s, &other->part[i].scale, other->part[i].samples);
	s->bytes += other->bytes;
	s->below += other->below;
	s->above += other->above;
}

double mem_sum_bytes(const struct mem_sum *s)
{
	double bytes = s->bytes;
	for (uint32_t i = 0; i < s->parts; i++)
		bytes += mem_scale_bytes(&s->part[i].scale, s->part[i].samples);
	return bytes;
}

struct mem_amount mem_sum_amount(const struct mem_sum *s)
{
	struct mem_sum all = *s;
	if (s->parts == 1 && !s->above)
		return mem_scale_amount(&s->part[0].scale, s->part[0].samples);
	for (uint32_t i = 0; i < s->parts; i++)
		add_rest(&all, &s->part[i]);
	double low = all.bytes - sqrt(all.below);
	return (struct mem_amount){all.bytes, low < 0 ? 0 : low, all.bytes + sqrt(all.above)};
}
