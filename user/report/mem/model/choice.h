/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which allocations of a stream are chosen, by their number in it: a bit each. A run that reads a
 * stream for the second time knows by it what was known only at the end of each object. Zeroed
 * memory: none is chosen.
 */
#ifndef REPORT_MEM_MODEL_CHOICE_H
#define REPORT_MEM_MODEL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem_choice {
	uint64_t *word;
	size_t words;
};

/* 0 or -ENOMEM. */
int mem_choice_add(struct mem_choice *c, uint64_t number);
bool mem_choice_has(const struct mem_choice *c, uint64_t number);
void mem_choice_done(struct mem_choice *c);

#endif
