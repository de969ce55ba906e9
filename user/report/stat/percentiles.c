/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/percentiles.h"

#include <stdio.h>

const uint32_t stat_percentiles[STAT_PERCENTILES] = {
	250000, 500000, 600000, 700000, 750000, 800000, 850000, 900000, 950000,
	960000, 970000, 980000, 990000, 999000, 999900, 999990, 999999, 1000000,
};

void stat_percentile_name(unsigned i, char ret[STAT_PERCENTILE_BYTES])
{
	snprintf(ret, STAT_PERCENTILE_BYTES, "%g", stat_percentiles[i] / 1e4);
}
