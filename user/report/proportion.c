/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/proportion.h"

#include <math.h>

#define Z 1.959964 /* of 95 % */

struct proportion proportion_of(uint64_t part, uint64_t whole)
{
	double n = (double)whole, p = n > 0 ? (double)part / n : 0;
	if (!(n > 0))
		return (struct proportion){0, 0, 100};
	double scale = 1 + Z * Z / n, middle = (p + Z * Z / (2 * n)) / scale;
	double half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / scale;
	double low = middle - half, high = middle + half;
	return (struct proportion){100 * p, part && low > 0 ? 100 * low : 0,
				   part < whole && high < 1 ? 100 * high : 100};
}
