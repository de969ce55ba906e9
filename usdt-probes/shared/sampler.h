/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples the words of allocations: each word with the same probability, independently of all
 * others. The number of words up to the next sampled one has a geometric distribution and is drawn,
 * so an allocation without a sample costs a subtraction and a branch. No floating-point library, no
 * lock, no allocation, no clock; the caller owns the state, and one thread at a time uses it.
 *
 * The expected number of samples of an allocation is its words times the rate, so the estimate
 * samples / rate of its words is unbiased.
 */
#ifndef EBT_SAMPLER_H
#define EBT_SAMPLER_H

#include <ebtrace/alloc.h>

/* A rate that is not above 0 samples nothing, one of 1 or above every word. Equal seeds give equal
 * samples; similar seeds give independent ones. */
void ebt_sampler_init(struct ebt_sampler *s, double rate, uint64_t seed);
/* For a sampler whose `left` is negative, so that the words between two calls are bounded by
 * EBT_SAMPLER_STRIDE. Returns the number of samples of the allocation that made it so. */
uint64_t ebt_sampler_draw(struct ebt_sampler *s);

/* The most words without a sample between two calls of ebt_sampler_draw(). */
#define EBT_SAMPLER_STRIDE (INT64_C(1) << 17)

/* The number of samples of an allocation of less than 2^62 words; almost always 0. */
static inline uint64_t ebt_sampler_count(struct ebt_sampler *s, uint64_t words)
{
	s->left -= (int64_t)words;
	return __builtin_expect(s->left >= 0, 1) ? 0 : ebt_sampler_draw(s);
}

#endif
