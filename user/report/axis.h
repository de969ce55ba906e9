/* SPDX-License-Identifier: BSD-2-Clause */
/* The axes of charts: round steps, and labels with as many digits as a step needs. */
#ifndef REPORT_AXIS_H
#define REPORT_AXIS_H

#include "report/text.h"

/* The round step of an axis that ends at `most`, with at most `ticks` of them: of bytes a power of
 * two, of time 1, 2 or 5 times a power of ten. At least 1. */
double axis_bytes_step(double most, unsigned ticks);
double axis_time_step(double ns, unsigned ticks);
/* "512 KiB", "2.5 ms" */
struct report_text axis_bytes_label(double bytes);
struct report_text axis_time_label(double ns);

#endif
