/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditions of --filter, as text: KEY OP VALUE, separated by commas; all must hold.
 *   function, file, site   = or !=, a glob
 *   domain                 =, a number
 *   lifetime               < <= > >=, a time
 *   size                   = < <= > >=, bytes (64K)
 */
#ifndef CMD_MEM_FILTER_H
#define CMD_MEM_FILTER_H

#include "report/mem/model/filter.h"

struct mem_conditions {
	struct mem_filter filter;
	char *text[MEM_FILTER_GLOBS]; /* copies to which the patterns point */
	unsigned texts;
};

void mem_conditions_init(struct mem_conditions *c);
void mem_conditions_done(struct mem_conditions *c);
#define MEM_CONDITION_WHY 160
/* Adds those of an argument of --filter. 0, or -EINVAL with a sentence in why, or -ENOMEM. */
int mem_conditions_add(struct mem_conditions *c, const char *text, char why[MEM_CONDITION_WHY]);

#endif
