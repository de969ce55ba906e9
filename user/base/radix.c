/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/radix.h"

#include <string.h>

#define DIGIT_MIN    6
#define DIGIT_MAX    11
#define INSERT_UP_TO 24 /* fewer keys are sorted by insertion */

/* A digit of the keys, and for each of its values the index of the next key. */
struct digit {
	unsigned shift;
	uint64_t mask;
	uint32_t next[1u << DIGIT_MAX];
};

static void insertion_sort(uint64_t *keys, size_t n, unsigned shift, uint64_t mask)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t key = keys[i];
		size_t at = i;
		for (; at && (keys[at - 1] >> shift & mask) > (key >> shift & mask); at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

static void digit_init(struct digit *d, unsigned shift, unsigned bits)
{
	d->shift = bits ? shift : 0;
	d->mask = (1u << bits) - 1;
	memset(d->next, 0, (size_t)(d->mask + 1) * sizeof(*d->next));
}

/* Turns the number of keys with each value into the index of the first of them. */
static void digit_sum(struct digit *d)
{
	uint32_t before = 0;
	for (size_t v = 0; v <= d->mask; v++) {
		uint32_t count = d->next[v];
		d->next[v] = before;
		before += count;
	}
}

static void move_keys(const uint64_t *from, uint64_t *to, size_t n, struct digit *d)
{
	unsigned shift = d->shift;
	uint64_t mask = d->mask;
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++) {
		uint64_t key = from[i];
		to[d->next[key >> shift & mask]++] = key;
	}
}

/* Sorts by two digits, which one pass over the keys counts: by `low`, then by `high`. */
static void sort_digits(uint64_t *keys, uint64_t *spare, size_t n, struct digit *low,
			struct digit *high)
{
	unsigned low_shift = low->shift, high_shift = high->shift;
	uint64_t low_mask = low->mask, high_mask = high->mask;
#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++) {
		uint64_t key = keys[i];
		low->next[key >> low_shift & low_mask]++;
		high->next[key >> high_shift & high_mask]++;
	}
	digit_sum(low);
	digit_sum(high);
	move_keys(keys, spare, n, low);
	move_keys(spare, keys, n, high);
}

/* Pairs of digits. Longer digits need fewer passes, but each needs a table: no longer than there
 * are keys. */
static unsigned pairs_for(size_t n, unsigned bits)
{
	unsigned most = 63 - (unsigned)__builtin_clzll(n);
	most = most < DIGIT_MIN ? DIGIT_MIN : most > DIGIT_MAX ? DIGIT_MAX : most;
	return (bits + 2 * most - 1) / (2 * most);
}

void radix_sort(uint64_t *keys, uint64_t *spare, size_t n, unsigned shift, unsigned bits)
{
	if (n < 2 || !bits)
		return;
	if (n <= INSERT_UP_TO) {
		insertion_sort(keys, n, shift, UINT64_MAX >> (64 - bits));
		return;
	}
	struct digit low, high;
	for (unsigned pairs = pairs_for(n, bits); pairs; pairs--) {
		unsigned both = (bits + pairs - 1) / pairs;
		digit_init(&low, shift, both - both / 2);
		digit_init(&high, low.shift + both - both / 2, both / 2);
		sort_digits(keys, spare, n, &low, &high);
		shift += both;
		bits -= both;
	}
}
