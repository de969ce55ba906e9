/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates of bytes from samples. Each word of an allocation is sampled with the same chance,
 * independently of all others, so the number of samples of N words is binomial: N is estimated as
 * samples / rate, with an interval that holds the truth in 95 % of all cases. At a rate of 1 both
 * are exact. Up to MEM_EXACT_SAMPLES samples the interval is exact (Clopper and Pearson's argument,
 * for a known rate and an unknown N), also of 0 samples; above it is the score interval (Wilson).
 *
 * Objects are estimated by the same samples: each of an object of N words stands for 1 / rate words
 * and so for 1 / (N rate) objects. Its samples are N rate on average, so the sum over all samples is
 * without bias, whatever the sizes; a share is samples / N, which can be added up before the rate is
 * known.
 *
 * Samples that are taken together are no more certain than one: the interval is that of fewer samples at
 * a lower rate.
 *
 * Where the rate is not known there is an estimate if samples have weights, but no interval: its ends
 * are NAN.
 *
 * Where not all was recorded, what was allocated is at least the lower end: the other one is INFINITY. What
 * is alive may be more or less than estimated: its interval is not known.
 *
 * A sum over processes that were sampled at different rates keeps the samples of each rate apart;
 * its interval combines theirs by the squares of their distances from the estimates.
 */
#ifndef REPORT_MEM_MODEL_AMOUNT_H
#define REPORT_MEM_MODEL_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define MEM_EXACT_SAMPLES 50
#define MEM_SUM_PARTS	  2

/* What events that were not recorded mean for an amount. */
enum mem_doubt { MEM_ALL_RECORDED, MEM_AT_LEAST, MEM_ANY };

/* How a process was sampled. */
struct mem_scale {
	double rate; /* the chance of a word, above 0, at most 1; 0: not known */
	double word_bytes;
	bool weighted;	/* a sample stands for a word, whatever the rate is */
	bool by_object; /* the samples of an object were taken as one */
	double each;	/* so many samples are taken as one, at the same place; 0: 1 */
	enum mem_doubt doubt;
};

/* The words that a sample stands for. */
static inline double mem_scale_words(const struct mem_scale *s)
{
	return s->weighted ? 1 : 1 / s->rate;
}
/* From one that is taken to the next. */
static inline double mem_scale_between(const struct mem_scale *s)
{
	return (s->each > 1 ? s->each : 1) / s->rate;
}
static inline double mem_scale_bytes(const struct mem_scale *s, uint64_t samples)
{
	return (double)samples * mem_scale_words(s) * s->word_bytes;
}
static inline double mem_scale_objects(const struct mem_scale *s, double shares)
{
	return shares * mem_scale_words(s);
}
static inline bool mem_scale_same(const struct mem_scale *a, const struct mem_scale *b)
{
	return a->doubt == b->doubt && a->rate == b->rate && a->word_bytes == b->word_bytes &&
	       a->weighted == b->weighted && a->by_object == b->by_object && a->each == b->each;
}

/* Samples, by scale. Zeroed memory is an empty sum, which is exactly 0 bytes. */
struct mem_sum {
	struct mem_part {
		struct mem_scale scale;
		uint64_t samples;
	} part[MEM_SUM_PARTS];
	uint32_t parts;
	/* Of further scales: the estimate, and the squared distances of its interval's ends. */
	double bytes, below, above;
};

struct mem_amount {
	double bytes;
	double low, high; /* of the interval; NAN: not known; high INFINITY: it may be any more */
};

/* Of 0 samples: records that the scale was in use, so that the sum is not exactly 0. */
void mem_sum_add(struct mem_sum *s, const struct mem_scale *scale, uint64_t samples);
void mem_sum_merge(struct mem_sum *s, const struct mem_sum *other);
/* The estimate alone. */
double mem_sum_bytes(const struct mem_sum *s);
struct mem_amount mem_sum_amount(const struct mem_sum *s);
/* The amount of one scale. */
struct mem_amount mem_scale_amount(const struct mem_scale *scale, uint64_t samples);
/* The same in words, of independent samples. */
struct mem_amount mem_words(uint64_t samples, double rate);

#endif
