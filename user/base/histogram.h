/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log-linear histogram of u64 values: 1024 buckets for each power of two. Values below 2048 have
 * a bucket each; above, a percentile is the middle of a bucket, so its error is at most 1 part in
 * 2048 (0.05 %). There is no upper limit. Count, min, max and sum are exact. Memory is allocated in
 * groups of 64 buckets when the first value falls into one: few values need little, any values at
 * most 460 KB. Zeroed memory is an empty histogram.
 *
 * One that is coarse, which is set while it is empty, has 32 buckets for each power of two: a
 * percentile is off by at most 1 part in 64 (1.6 %), and any values need at most 16 KB. An empty
 * one becomes coarse when a coarse one is added.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buckets.h"

#define HISTOGRAM_GROUPS BUCKETS_GROUPS
/* The argument of histogram_at() that means 100 %. */
#define HISTOGRAM_WHOLE 1000000u

struct histogram {
	struct histogram_group *groups[HISTOGRAM_GROUPS]; /* NULL: no value */
	bool coarse;
	uint64_t count, min, max;
	unsigned __int128 sum;
	double mean, m2; /* Welford's: m2 is the sum of squared distances from the mean */
};

void histogram_done(struct histogram *h);
/* Removes the values; keeps the memory. */
void histogram_clear(struct histogram *h);
/* 0, or -ENOMEM: the value was not counted. */
int histogram_add(struct histogram *h, uint64_t v);
/* The same n times at once. */
int histogram_add_many(struct histogram *h, uint64_t v, uint64_t n);
/* The same, except for the standard deviation, which costs a division: that of `h` has no
 * meaning. */
int histogram_count(struct histogram *h, uint64_t v, uint64_t n);
/*
 * The same in two steps, with time between them: the place of a value, which is fetched into the
 * cache (NULL: no memory), valid until the histogram is cleared or done; and the count, n > 0.
 */
uint64_t *histogram_place(struct histogram *h, uint64_t v);
static inline void histogram_count_at(struct histogram *h, uint64_t *place, uint64_t v, uint64_t n)
{
	*place += n;
	if (!h->count || v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->count += n;
	h->sum += (unsigned __int128)v * n;
}
/* Adds the values of another. 0, or -ENOMEM: `h` is as before. */
int histogram_merge(struct histogram *h, const struct histogram *other);
/* Makes an empty one equal to another, to the last bit. 0 or -ENOMEM. */
int histogram_copy(struct histogram *h, const struct histogram *other);
/*
 * The percentile by nearest rank: the smallest value such that at least parts/HISTOGRAM_WHOLE of
 * all values are not above it. 0 parts: the minimum. Of an empty histogram 0.
 */
uint64_t histogram_at(const struct histogram *h, uint32_t parts);
double histogram_mean(const struct histogram *h);
/* Of the population; 0 if there are fewer than two values. */
double histogram_stddev(const struct histogram *h);

#endif
