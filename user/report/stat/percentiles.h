/* SPDX-License-Identifier: BSD-2-Clause */
/* The percentiles of pauses that the reports of stat print: those that olly prints. */
#ifndef REPORT_STAT_PERCENTILES_H
#define REPORT_STAT_PERCENTILES_H

#include <stdint.h>

#define STAT_PERCENTILES 18
extern const uint32_t stat_percentiles[STAT_PERCENTILES]; /* in parts of HISTOGRAM_WHOLE */
#define STAT_PERCENTILE_BYTES 16
/* "50", "99.9" …, the keys of JSON. */
void stat_percentile_name(unsigned i, char ret[STAT_PERCENTILE_BYTES]);

#endif
