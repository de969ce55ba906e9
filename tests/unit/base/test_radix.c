/* SPDX-License-Identifier: BSD-2-Clause */
/* The radix sort against a stable sort by comparing, over numbers of keys and of bits. */
#include "base/radix.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <stdbool.h>
#include <stdlib.h>

#define MAX 5000

static uint64_t state = 1;

static uint64_t draw(void)
{
	return random_next(&state);
}

/* Sorted by the bits, and by where they were before: the low bits of a key say that. */
static bool is_sorted(const uint64_t *keys, size_t n, unsigned shift, uint64_t mask)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t a = keys[i - 1] >> shift & mask, b = keys[i] >> shift & mask;
		if (a > b || (a == b && (keys[i - 1] & 0x1fff) >= (keys[i] & 0x1fff)))
			return false;
	}
	return true;
}

static bool sorts(size_t n, unsigned bits)
{
	static uint64_t keys[MAX], spare[MAX];
	const unsigned shift = 13;
	uint64_t mask = bits ? UINT64_MAX >> (64 - bits) : 0, sum = 0, sorted_sum = 0;
	for (size_t i = 0; i < n; i++) {
		keys[i] = draw() << shift | i;
		sum += keys[i];
	}
	radix_sort(keys, spare, n, shift, bits);
	for (size_t i = 0; i < n; i++)
		sorted_sum += keys[i];
	return sum == sorted_sum && is_sorted(keys, n, shift, mask);
}

int main(void)
{
	static const size_t counts[] = {0, 1, 2, 3, 24, 25, 64, 100, 2048, MAX};
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		unsigned bad = 0;
		for (unsigned bits = 0; bits <= 51; bits++)
			bad += !sorts(counts[i], bits);
		if (!ok(!bad,
			"keys are sorted by any number of bits, and equal ones keep their order"))
			diag("%zu keys, %u numbers of bits", counts[i], bad);
	}
	return tap_done();
}
