/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow: with zeroes, without, and by powers of two; what is left without memory. */
#include "base/array.h"

#include <malloc.h>
#include <stdint.h>

#include "tests/tap.h"

static void test_room(void)
{
	uint64_t *at = NULL;
	uint32_t entries = 0;
	bool zeroed = true, kept = true;
	for (uint32_t i = 0; i < 1000; i += 1 + i / 8) {
		uint32_t had = entries;
		if (!array_room(at, entries, i) || entries <= i)
			abort();
		for (uint32_t k = 0; k < entries; k++) {
			kept &= k >= had || at[k] == k + 1;
			zeroed &= k < had || !at[k];
			at[k] = k + 1;
		}
	}
	ok(zeroed, "new entries are zeroed");
	ok(kept, "the others stay");
	uint64_t *before = at;
	ok(array_room(at, entries, entries - 1) && at == before, "what there is does not grow");
	free(at);
}

static void test_most(void)
{
	uint8_t *bytes = NULL, small = 0;
	unsigned n = 0;
	while (n < 1000 && array_reserve(bytes, small, n))
		bytes[n++] = 1;
	ok(n > 100 && n <= UINT8_MAX && small == n,
	   "an array has no more entries than its owner can count");
	free(bytes);
	struct large {
		char bytes[4096];
	} *large = NULL;
	size_t entries = 0;
	ok(!array_reserve(large, entries, SIZE_MAX / 4096) && !large && !entries,
	   "nor more than fit into the address space");
	ok(!array_reserve(large, entries, SIZE_MAX) && !array_room(large, entries, SIZE_MAX - 2),
	   "whatever the index is");
}

__attribute__((unused)) static void test_no_memory(void)
{
	struct large {
		char bytes[1 << 20];
	} *at = NULL, *before;
	uint32_t entries = 0;
	if (!array_reserve(at, entries, 0))
		abort();
	before = at;
	at[0].bytes[7] = 7;
	uint32_t had = entries;
	ok(!array_room(at, entries, UINT32_MAX / 2) && at == before && entries == had &&
		   at[0].bytes[7] == 7,
	   "without memory nothing changes");
	free(at);
}

static void test_more(void)
{
	uint32_t *at = NULL, count = 0, moves = 0, one_by_one = 0;
	bool room = true;
	while (array_is_short(one_by_one))
		one_by_one++;
	for (; count < 1000; count++) {
		size_t had = malloc_usable_size(at);
		room &= array_more(at, count) && malloc_usable_size(at) > count * sizeof(*at);
		moves += had != malloc_usable_size(at);
		at[count] = count;
	}
	for (uint32_t i = 0; i < count; i++)
		room &= at[i] == i;
	ok(room, "an array that only grows by one needs no number of its entries");
	ok(moves <= 11 + one_by_one, "and grows at powers of two");
	count = 500;
	ok(array_more(at, count) && malloc_usable_size(at) > count * sizeof(*at),
	   "after some of them were dropped, too");
	free(at);
}

int main(void)
{
	mallopt(M_PERTURB, 0x5a); /* what nobody wrote is not 0 */
	test_room();
	test_most();
#ifndef __SANITIZE_ADDRESS__ /* its allocator ends the program */
	test_no_memory();
#endif
	test_more();
	return tap_done();
}
