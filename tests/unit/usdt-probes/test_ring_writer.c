/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of rings against a list of all records: whatever their lengths, head stands at one of
 * them, less than a ring is between head and tail (W1), and no more is given up than the header
 * promises. test_ring_model.c has the order of the stores.
 */
#include <stdint.h>
#include <string.h>

#include "tests/tap.h"
#include "usdt-probes/ring_writer.h"

#define MAX_ELEMENTS 4096
#define POSITIONS    (1 << 18)

static uint64_t words[MAX_ELEMENTS];
static unsigned char starts[POSITIONS]; /* a record, or padding, starts here */
static uint16_t first[EBT_RING_BLOCKS];

struct result {
	unsigned records, astray, overfull, wasted, straddle, quarters;
};

static uint32_t seed = 1;
static uint64_t random_to(uint64_t n)
{
	seed = seed * 1664525 + 1013904223;
	return 1 + ((uint64_t)(seed >> 8) * n >> 24);
}

/* Records of up to `longest` words; the ring is opened anew, as by its next thread, now and
 * then. */
static struct result fill(uint64_t elements, uint64_t block, uint64_t longest)
{
	struct ebt_ring_header h = {0};
	struct ebt_ring r;
	struct result res = {0};
	memset(starts, 0, sizeof(starts));
	memset(first, 0, sizeof(first));
	ebt_ring_open(&r, &h, words, elements, block, first);
	while (r.tail + 2 * elements < POSITIONS) {
		uint64_t n = random_to(longest), from = r.tail;
		if (random_to(1000) == 1)
			ebt_ring_open(&r, &h, words, elements, block, first);
		uint64_t *at = ebt_ring_reserve(&r, n);
		starts[from] = starts[r.tail] = 1;
		res.straddle += at != &words[r.tail & (elements - 1)] || at + n > words + elements;
		res.astray += h.head > r.tail || (h.head < r.tail && !starts[h.head]);
		res.overfull += r.tail + n - h.head >= elements;
		res.wasted += h.head && r.tail + n - h.head + 2 * block + longest < elements;
		ebt_ring_commit(&r, n);
		res.quarters += ebt_ring_quarter_full(&r);
		res.records++;
	}
	ok(h.tail == r.tail, "%u records of up to %u words in a ring of %u", res.records,
	   (unsigned)longest, (unsigned)elements);
	if (longest * 8 <= elements) /* a long record may fill several */
		is(res.quarters, 4 * r.tail / elements, "each of its quarters is reported once");
	return res;
}

int main(void)
{
	static const struct {
		uint64_t elements, block, longest;
	} rings[] = {{8, 2, 4},	     {16, 2, 3},      {512, 8, 2},     {512, 8, 5},
		     {512, 8, 256},  {512, 8, 100},   {1024, 16, 512}, {4096, 64, 3},
		     {4096, 64, 30}, {4096, 64, 1023}};
	struct result all = {0};
	for (size_t i = 0; i < sizeof(rings) / sizeof(*rings); i++) {
		struct result r = fill(rings[i].elements, rings[i].block, rings[i].longest);
		all.astray += r.astray;
		all.overfull += r.overfull;
		all.wasted += r.wasted;
		all.straddle += r.straddle;
	}
	is(all.astray, 0, "head always stands at a record");
	is(all.overfull, 0, "less than a ring stands between head and the end of the next record");
	is(all.wasted, 0, "no more than two blocks and a record are given up");
	is(all.straddle, 0, "no record straddles the end of the ring");
	return tap_done();
}
