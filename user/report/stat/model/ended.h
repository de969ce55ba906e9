/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that were released and still have numbers of their own: those with the most GC
 * time, the older ones first among equals. A heap whose first entry has the least. It owns none of
 * them.
 */
#ifndef REPORT_STAT_MODEL_ENDED_H
#define REPORT_STAT_MODEL_ENDED_H

#include "report/stat/model/process.h"

/* Zeroed memory: none. */
struct stat_ended {
	struct stat_process **heap;
	uint32_t count, cap;
};

void stat_ended_done(struct stat_ended *e);
/* Adds a process whose numbers are final. 0 or -ENOMEM. */
int stat_ended_add(struct stat_ended *e, struct stat_process *p);
/* Removes the one with the least GC time; NULL: there are none. */
struct stat_process *stat_ended_take_least(struct stat_ended *e);

#endif
