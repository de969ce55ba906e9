// SPDX-License-Identifier: BSD-2-Clause
/* The interval of a proportion: how often it holds the truth. */
#include "report/proportion.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <math.h>

#define ROUNDS 4000

/* In how many of ROUNDS samples of n the interval holds the truth. */
static unsigned holds(double p, unsigned n, uint64_t *state)
{
	unsigned held = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t part = 0;
		for (unsigned k = 0; k < n; k++)
			part += (double)(random_next(state) >> 11) / 0x1p53 < p;
		struct proportion of = proportion_of(part, n);
		held += of.low <= 100 * p && 100 * p <= of.high;
	}
	return held;
}

static void test_coverage(void)
{
	static const struct {
		double p;
		unsigned n;
	} rows[] = {{0.5, 50}, {0.1, 100}, {0.4, 1000}, {0.02, 300}, {0.9, 40}};
	uint64_t state = 88172645463325252ull;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double share = holds(rows[i].p, rows[i].n, &state) / (double)ROUNDS;
		ok(share > 0.92 && share < 0.99, "%g of %u: held in %.1f %%", rows[i].p, rows[i].n,
		   100 * share);
	}
}

int main(void)
{
	struct proportion none = proportion_of(0, 0), zero = proportion_of(0, 50),
			  all = proportion_of(50, 50), half = proportion_of(50, 100);
	ok(none.low == 0 && none.high == 100 && none.percent == 0, "of nothing nothing is known");
	ok(zero.low == 0 && zero.percent == 0 && zero.high > 5 && zero.high < 8,
	   "none of fifty may be seven per cent");
	ok(all.high == 100 && all.percent == 100 && all.low > 92 && all.low < 95,
	   "all of fifty may be less");
	ok(fabs(half.low - 40.38) < 0.01 && fabs(half.high - 59.62) < 0.01,
	   "half of a hundred is from 40.4 to 59.6 per cent");
	test_coverage();
	return tap_done();
}
