/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of objects: lifetimes by powers of two, and counts that do not overflow. */
#include "report/mem/model/process.h"

#include <stdlib.h>

#include "tests/tap.h"

static void test_buckets(void)
{
	static const struct {
		uint64_t ns;
		unsigned bucket;
	} rows[] = {
		{0, 0},
		{1, 1},
		{2, 2},
		{3, 2},
		{4, 3},
		{1023, 10},
		{1024, 11},
		{(UINT64_C(1) << 46) - 1, 46},
		{UINT64_C(1) << 46, 47},
		{UINT64_MAX, 47},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is(mem_lifetime_bucket(rows[i].ns), rows[i].bucket, "a lifetime has its bucket");
	unsigned wrong = 0;
	for (unsigned b = 0; b < MEM_LIFETIME_TIMES; b++)
		wrong += mem_lifetime_bucket(mem_lifetime_least(b)) != b ||
			 (b && mem_lifetime_bucket(mem_lifetime_least(b) - 1) != b - 1);
	is(wrong, 0, "a bucket begins with its least lifetime");
}

static void test_collect(void)
{
	struct mem_fate f = {0};
	struct mem_object o = {.samples = 3, .share = 0.5}, many = {.samples = UINT64_MAX};
	if (mem_fate_collect(&f, &o, 1000) || mem_fate_collect(&f, &o, 1023) ||
	    mem_fate_collect(&f, &o, 1024))
		abort();
	ok(f.lifetime[10] == 6 && f.lifetime[11] == 3, "samples are counted by lifetime");
	ok(f.collected.objects == 3 && f.collected.samples == 9 && f.collected.shares == 1.5,
	   "and in all");
	if (mem_fate_collect(&f, &many, 1000) || mem_fate_collect(&f, &many, 0))
		abort();
	ok(f.lifetime[10] == UINT64_MAX && f.lifetime[0] == UINT64_MAX && f.lifetime[11] == 3,
	   "no count overflows");
	free(f.lifetime);
}

int main(void)
{
	test_buckets();
	test_collect();
	return tap_done();
}
