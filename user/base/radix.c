/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/radix.h"

#include <string.h>

#define DIGIT_MIN    6
#define DIGIT_MAX    11
#define INSERT_UP_TO 24 /* so few are sorted by insertion */

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

/* One digit, of at most DIGIT_MAX bits: counts, then places. */
static void sort_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned shift, unsigned bits)
{
	uint32_t place[1u << DIGIT_MAX];
	uint64_t mask = (1u << bits) - 1;
	memset(place, 0, (size_t)(mask + 1) * sizeof(*place));
	for (size_t i = 0; i < n; i++)
		place[from[i] >> shift & mask]++;
	uint32_t before = 0;
	for (size_t d = 0; d <= mask; d++) {
		uint32_t count = place[d];
		place[d] = before;
		before += count;
	}
	for (size_t i = 0; i < n; i++)
		to[place[from[i] >> shift & mask]++] = from[i];
}

/* Longer digits need fewer passes, but each costs its table: no longer than there are keys. */
static unsigned digits_for(size_t n, unsigned bits)
{
	unsigned most = 63 - (unsigned)__builtin_clzll(n);
	most = most < DIGIT_MIN ? DIGIT_MIN : most > DIGIT_MAX ? DIGIT_MAX : most;
	return (bits + most - 1) / most;
}

uint64_t *radix_sort(uint64_t *keys, uint64_t *spare, size_t n, unsigned shift, unsigned bits)
{
	if (n < 2 || !bits)
		return keys;
	if (n <= INSERT_UP_TO) {
		insertion_sort(keys, n, shift, UINT64_MAX >> (64 - bits));
		return keys;
	}
	for (unsigned left = digits_for(n, bits); left; left--) {
		unsigned digit = (bits + left - 1) / left;
		sort_digit(keys, spare, n, shift, digit);
		uint64_t *sorted = spare;
		spare = keys;
		keys = sorted;
		shift += digit;
		bits -= digit;
	}
	return keys;
}
