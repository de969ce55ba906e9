/* SPDX-License-Identifier: BSD-2-Clause */
/* The longest of many pauses (blame.h), with a reference to the stack of each. */
#ifndef MODEL_LONGEST_PAUSES_H
#define MODEL_LONGEST_PAUSES_H

#include "model/blame.h"

struct longest_pauses {
	struct stacks *stacks;
	struct blame_pause *at; /* a heap, the shortest of them first */
	uint32_t count, max;
};

/* The stacks are kept. 0 or -ENOMEM. */
int longest_pauses_init(struct longest_pauses *l, struct stacks *stacks, uint32_t max);
void longest_pauses_done(struct longest_pauses *l);
/* Copies the pause if it is one of the longest. */
void longest_pauses_add(struct longest_pauses *l, const struct blame_pause *p);
/* Sorts them, the longest first. */
void longest_pauses_sort(struct longest_pauses *l);

#endif
