/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses with the highest values, of any number of them, in memory for those that are asked
 * for. Of equal values the lowest addresses. */
#ifndef REPORT_PAGES_MODEL_BEST_H
#define REPORT_PAGES_MODEL_BEST_H

#include <stdint.h>

struct pages_best_row {
	uint64_t value, addr;
};

/* Zeroed memory but for `most` is empty. */
struct pages_best {
	uint32_t most; /* rows that are asked for; at least 1 */
	uint32_t count, cap;
	struct pages_best_row *row; /* a heap: the worst first; after _sort() the best first */
};

void pages_best_done(struct pages_best *b);
/* 0 or -ENOMEM. */
int pages_best_add(struct pages_best *b, uint64_t value, uint64_t addr);
/* The last call. */
void pages_best_sort(struct pages_best *b);

#endif
