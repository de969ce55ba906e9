/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The buckets of a log-linear histogram, for those that count in them: base/histogram.c, and the
 * BPF programs, which include this, too. Group 0 is [0, COUNT), group g > 0 is [COUNT << (g - 1),
 * COUNT << g): its buckets are 1 << (g - 1) wide, so those of groups 0 and 1 hold one value each.
 */
#ifndef BASE_BUCKETS_H
#define BASE_BUCKETS_H

#ifndef __bpf__
#include <stdint.h>
#endif

/*
 * A coarse histogram counts numbers in place of values: a value below BUCKETS_COARSE_FIRST has its
 * own, and above there are BUCKETS_COARSE for each power of two.
 */
#define BUCKETS_COARSE_BITS  5
#define BUCKETS_COARSE	     (1u << BUCKETS_COARSE_BITS)
#define BUCKETS_COARSE_FIRST (2 * BUCKETS_COARSE)

#define BUCKETS_BITS   10 /* log2 of the buckets of a power of two */
#define BUCKETS_COUNT  (1u << BUCKETS_BITS)
#define BUCKETS_GROUPS (64 - BUCKETS_BITS + 1)

/* The number of the highest bit of a value that is not 0: for BPF, for which clang 14 has no
 * code for the builtin. */
static inline __attribute__((always_inline)) unsigned buckets_log2_by_halves(uint64_t v)
{
	unsigned n = 0;
	for (unsigned step = 32; step; step /= 2) {
		if (v >> step) {
			v >>= step;
			n += step;
		}
	}
	return n;
}

#ifdef __bpf__
#define buckets_log2 buckets_log2_by_halves
#else
#define buckets_log2(v) (63 - (unsigned)__builtin_clzll(v))
#endif

static inline __attribute__((always_inline)) unsigned buckets_group_of(uint64_t v)
{
	return v < BUCKETS_COUNT ? 0 : buckets_log2(v) - BUCKETS_BITS + 1;
}

static inline __attribute__((always_inline)) unsigned buckets_bucket_of(uint64_t v, unsigned group)
{
	return (unsigned)(group ? v >> (group - 1) : v) & (BUCKETS_COUNT - 1);
}

static inline __attribute__((always_inline)) uint64_t buckets_coarse_of(uint64_t v)
{
	if (v < BUCKETS_COARSE_FIRST)
		return v;
	unsigned bit = buckets_log2(v);
	uint64_t sub = v >> (bit - BUCKETS_COARSE_BITS) & (BUCKETS_COARSE - 1);
	return BUCKETS_COARSE_FIRST + (bit - BUCKETS_COARSE_BITS - 1) * BUCKETS_COARSE + sub;
}

/* The middle of the values that have a coarse number. */
static inline uint64_t buckets_middle_of_coarse(uint64_t number)
{
	if (number < BUCKETS_COARSE_FIRST)
		return number;
	unsigned shift = (unsigned)(number - BUCKETS_COARSE_FIRST) / BUCKETS_COARSE + 1;
	return ((BUCKETS_COARSE + number % BUCKETS_COARSE) << shift) + ((1ull << shift) - 1) / 2;
}

static inline uint64_t buckets_middle_of(unsigned group, unsigned bucket)
{
	if (!group)
		return bucket;
	uint64_t width = 1ull << (group - 1);
	return ((uint64_t)(BUCKETS_COUNT + bucket) << (group - 1)) + (width - 1) / 2;
}

#endif
