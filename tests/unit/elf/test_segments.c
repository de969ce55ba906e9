/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of addresses as segments: nested, cut, empty, and against a search of all ranges. */
#include "elf/segments.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <stdbool.h>

static struct segment *segment;
static size_t segments;

static void make(struct segments_range *range, size_t count)
{
	free(segment);
	if (segments_make(range, count, &segment, &segments))
		abort();
}

static uint32_t at(uint64_t address)
{
	return segments_find(segment, segments, address);
}

static void test_nested(void)
{
	struct segments_range range[] = {
		{100, 200, 0, 1}, {120, 140, 1, 2}, {100, 110, 1, 3}, {200, 210, 0, 4}};
	make(range, 4);
	ok(at(100) == 3 && at(109) == 3 && at(110) == 1 && at(120) == 2 && at(140) == 1,
	   "an address is in the innermost of its ranges");
	ok(at(99) == SEGMENTS_NONE && at(199) == 1 && at(200) == 4 && at(209) == 4 &&
		   at(210) == SEGMENTS_NONE,
	   "a range ends before its end");
	struct segments_range beyond[] = {{10, 20, 0, 1}, {15, 90, 1, 2}};
	make(beyond, 2);
	ok(at(19) == 2 && at(20) == SEGMENTS_NONE, "one that reaches beyond its outer one is cut");
}

static void test_empty(void)
{
	make(NULL, 0);
	is(at(0), SEGMENTS_NONE, "without ranges no address has a value");
	struct segments_range range[] = {
		{10, 100, 0, 1}, {50, 50, 1, 2}, {60, 20, 1, 3}, {70, 80, 1, 4}, {200, 150, 0, 5}};
	make(range, 5);
	bool in_order = true;
	for (size_t i = 1; i < segments; i++)
		in_order &= segment[i - 1].start < segment[i].start;
	ok(in_order && at(50) == 1 && at(60) == 1 && at(75) == 4 && at(99) == 1,
	   "a range that is empty, or ends before it begins, has no address");
	ok(at(100) == SEGMENTS_NONE && at(160) == SEGMENTS_NONE && at(200) == SEGMENTS_NONE,
	   "outside of the others, too");
}

/* The innermost range of an address: the one that begins last, of these the deepest. */
static uint32_t search(const struct segments_range *range, size_t count, uint64_t address)
{
	const struct segments_range *best = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct segments_range *r = &range[i];
		bool is_in = r->start <= address && address < r->end;
		if (is_in && (!best || r->start > best->start ||
			      (r->start == best->start && r->depth > best->depth)))
			best = r;
	}
	return best ? best->value : SEGMENTS_NONE;
}

/* Ranges in each of which others are, of one depth apart from each other. */
static size_t nest(struct segments_range *range, size_t count, size_t most, uint64_t *seed,
		   uint64_t start, uint64_t end, uint32_t depth)
{
	for (uint64_t from = start; count < most && from < end && depth < 5;) {
		uint64_t begin = from + random_next(seed) % 8;
		uint64_t to = begin + 1 + random_next(seed) % (end - start);
		to = to < end ? to : end;
		if (begin >= to)
			break;
		range[count] = (struct segments_range){begin, to, depth, (uint32_t)count};
		count = nest(range, count + 1, most, seed, begin, to, depth + 1);
		from = to;
	}
	return count;
}

static void test_model(void)
{
	struct segments_range range[60], copy[60];
	uint64_t seed = 3;
	unsigned wrong = 0;
	for (unsigned round = 0; round < 500; round++) {
		size_t n = nest(range, 0, round % 60, &seed, 5, 150, 0);
		memcpy(copy, range, sizeof(copy));
		make(copy, n);
		for (uint64_t address = 0; address < 160; address++)
			wrong += at(address) != search(range, n, address);
	}
	is(wrong, 0, "500 random nests agree with a search of all their ranges");
}

int main(void)
{
	test_nested();
	test_empty();
	test_model();
	free(segment);
	return tap_done();
}
