/* SPDX-License-Identifier: BSD-2-Clause */
/* The merge of two runs of keys against a sort. */
#include "base/runs.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX 400

static uint64_t state = 1;

static uint64_t draw(void)
{
	return random_next(&state);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Ascending keys from `key` on, of one parity, so that the other run has none of them. */
static uint64_t *make_run(uint64_t *words, size_t n, uint64_t key, uint64_t step)
{
	for (size_t i = 0; i < n; i++) {
		words[1 + i] = key;
		key += 2 * (1 + draw() % step);
	}
	return words + 1;
}

static bool merges(size_t na, uint64_t first_a, size_t nb, uint64_t first_b, uint64_t step)
{
	static uint64_t a[MAX + 2], b[MAX + 2], out[2 * MAX + 1], sorted[2 * MAX];
	uint64_t *run_a = make_run(a, na, first_a, step), *run_b = make_run(b, nb, first_b, 3);
	memcpy(sorted, run_a, na * sizeof(*sorted));
	memcpy(sorted + na, run_b, nb * sizeof(*sorted));
	qsort(sorted, na + nb, sizeof(*sorted), compare);
	out[na + nb] = 4711;
	runs_merge(run_a, na, run_b, nb, out);
	return !memcmp(out, sorted, (na + nb) * sizeof(*out)) && out[na + nb] == 4711;
}

int main(void)
{
	int bad = 0;
	for (size_t na = 1; na <= 33; na++)
		for (size_t nb = 1; nb <= 33; nb++)
			bad += !merges(na, draw() % 40 * 2, nb, draw() % 40 * 2 + 1,
				       1 + draw() % 9);
	is(bad, 0, "short runs of any two lengths come out sorted");
	bad = 0;
	for (int i = 0; i < 300; i++)
		bad += !merges(1 + draw() % MAX, draw() % 900 * 2, 1 + draw() % MAX,
			       draw() % 900 * 2 + 1, 1 + draw() % 9);
	is(bad, 0, "long runs, one inside, beside or across the other, come out sorted");
	bad = !merges(5, 0, 200, 1, 400) + !merges(200, 1, 5, 0, 1) + !merges(1, 0, 1, 1, 1);
	is(bad, 0, "key 0 comes out once, first");
	uint64_t low[3] = {7, 5, 7}, high[4] = {7, 3, UINT64_MAX, 7}, out[3];
	runs_merge(low + 1, 1, high + 1, 2, out);
	ok(out[0] == 3 && out[1] == 5 && out[2] == UINT64_MAX, "the greatest key comes out last");
	return tap_done();
}
