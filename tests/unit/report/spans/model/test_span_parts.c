/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a span: sums by kind and detail, of a limited number, in order. */
#include "report/spans/model/parts.h"

#include <stdlib.h>
#include <string.h>

#include "tests/random.h"
#include "tests/tap.h"

static void add(struct span_parts *p, uint32_t kind, uint32_t detail, uint64_t ns)
{
	if (span_parts_add(p, kind, detail, ns))
		abort();
}

static void test_sums(void)
{
	struct span_parts p = {0};
	add(&p, SPAN_RUNNING, 0, 0);
	is(p.count, 0, "no time is no part");
	add(&p, SPAN_BLOCKED, 3, 10);
	add(&p, SPAN_RUNNING, 0, 5);
	add(&p, SPAN_BLOCKED, 4, 20);
	add(&p, SPAN_BLOCKED, 3, 1);
	is(p.count, 3, "a part is of a kind and a detail");
	is(span_parts_get(&p, SPAN_BLOCKED, 3), 11, "it is the sum of its times");
	is(span_parts_get(&p, SPAN_BLOCKED, 5), 0, "one that there is not has none");
	is(span_parts_total(&p), 36, "parts add up");
	span_parts_sort(&p);
	ok(p.at[0].kind == SPAN_RUNNING && p.at[1].detail == 4 && p.at[2].detail == 3,
	   "they are sorted by kind, the longest first");
	add(&p, SPAN_BLOCKED, 2, 11);
	span_parts_sort(&p);
	ok(p.at[2].detail == 2 && p.at[3].detail == 3,
	   "of the same length the lesser detail first");
	span_parts_done(&p);
	ok(!p.at && !p.count, "nothing is left");
}

/* Details beyond the limit are one a kind. */
static void test_limit(void)
{
	struct span_parts p = {0};
	unsigned apart = SPAN_PARTS_MAX - SPAN_PART_KINDS;
	for (uint32_t i = 0; i < apart + 10; i++)
		add(&p, SPAN_BLOCKED, i, 1 + i);
	is(p.count, apart + 1, "details up to the limit are apart");
	is(span_parts_get(&p, SPAN_BLOCKED, apart - 1), apart, "to the last one");
	is(span_parts_get(&p, SPAN_BLOCKED, apart), 0, "and no more");
	is(span_parts_get(&p, SPAN_BLOCKED, SPAN_DETAIL_OTHER), 10 * apart + 55,
	   "the others are one part");
	for (uint32_t kind = 0; kind < SPAN_PART_KINDS; kind++)
		for (uint32_t i = 0; i < 20; i++)
			add(&p, kind, 1000 + i, 1);
	is(p.count, SPAN_PARTS_MAX, "of each kind");
	is(span_parts_get(&p, SPAN_READY, SPAN_DETAIL_OTHER), 20, "with all of its time");
	span_parts_done(&p);
}

/* Sums are added up. Their parts are in the same order, or in another. */
static void test_merge(void)
{
	uint64_t seed = 1;
	unsigned wrong = 0;
	for (unsigned round = 0; round < 2000; round++) {
		struct span_parts p[2] = {{0}};
		uint64_t want[4][4] = {{0}}, total = 0;
		for (unsigned i = 0; i < 2; i++)
			for (unsigned n = (unsigned)(random_next(&seed) % 8); n; n--) {
				uint32_t kind = (uint32_t)(random_next(&seed) % 4);
				uint32_t detail = (uint32_t)(random_next(&seed) % 4);
				uint64_t ns = random_next(&seed) % 100;
				add(&p[i], kind, detail, ns);
				want[kind][detail] += ns;
				total += ns;
			}
		if (span_parts_merge(&p[0], &p[1]))
			abort();
		wrong += span_parts_total(&p[0]) != total;
		for (uint32_t k = 0; k < 16; k++)
			wrong += span_parts_get(&p[0], k / 4, k % 4) != want[k / 4][k % 4];
		span_parts_done(&p[0]);
		span_parts_done(&p[1]);
	}
	is(wrong, 0, "each part of a sum is the sum of these parts");
}

static void test_names(void)
{
	unsigned unnamed = 0;
	for (unsigned kind = 0; kind < SPAN_PART_KINDS; kind++)
		unnamed += !span_part_key(kind) || !span_part_text(kind);
	is(unnamed, 0, "each kind has a key and a text");
	ok(!span_part_key(SPAN_PART_KINDS) && !span_part_text(SPAN_PART_KINDS), "no other has");
	is_str(span_part_key(SPAN_WAITING), "run_queue", "the key is that of JSON");
	static const int32_t calls[] = {BLAME_NO_CALL, 0, 1, 450, 65533};
	unsigned wrong = 0;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (unsigned part = 0; part < BLAME_PARTS; part++) {
			uint32_t detail = span_block((enum blame_part)part, calls[i]);
			wrong += span_block_part(detail) != part ||
				 span_block_call(detail) != calls[i];
		}
	is(wrong, 0, "a block has its reason and its system call, or none");
}

int main(void)
{
	test_sums();
	test_limit();
	test_merge();
	test_names();
	return tap_done();
}
