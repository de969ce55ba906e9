/* SPDX-License-Identifier: BSD-2-Clause */
/* The interval of a proportion: where the truth is in 95 of 100 cases, if a part was found in
 * a sample. Wilson's, which holds for few and for all of them, too. */
#ifndef REPORT_PROPORTION_H
#define REPORT_PROPORTION_H

#include <stdint.h>

struct proportion {
	double percent, low, high; /* 0 of nothing, from 0 to 100 */
};

struct proportion proportion_of(uint64_t part, uint64_t whole);

#endif
