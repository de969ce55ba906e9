/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/runs.h"

#include <string.h>

static void append(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out)
{
	memcpy(out, a, na * sizeof(*out));
	memcpy(out + na, b, nb * sizeof(*out));
}

void runs_merge(uint64_t *a, size_t na, uint64_t *b, size_t nb, uint64_t *out)
{
	if (a[na - 1] < b[0]) {
		append(a, na, b, nb, out);
		return;
	}
	if (b[nb - 1] < a[0]) {
		append(b, nb, a, na, out);
		return;
	}
	/* A run that is used up loses every comparison. The least and the greatest of all keys may
	 * equal these words, but each of them is in the half that does not meet its like. */
	a[-1] = b[-1] = 0;
	a[na] = b[nb] = UINT64_MAX;
	const uint64_t *a_last = a + na - 1, *b_last = b + nb - 1;
	uint64_t *last = out + na + nb - 1;
	size_t half = (na + nb) / 2, from_a = 0, back_a = 0;
	for (size_t i = 0; i < half; i++) {
		uint64_t x = a[from_a], y = b[i - from_a];
		out[i] = x < y ? x : y;
		from_a += x < y;
		x = *(a_last - back_a);
		y = *(b_last - (i - back_a));
		*(last - i) = x > y ? x : y;
		back_a += x > y;
	}
	if ((na + nb) % 2) {
		uint64_t x = a[from_a], y = b[half - from_a];
		out[half] = x < y ? x : y;
	}
}
