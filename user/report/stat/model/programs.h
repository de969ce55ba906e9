/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs: the numbers of all processes of one name, added up. A process that was added is needed
 * no more.
 */
#ifndef REPORT_STAT_MODEL_PROGRAMS_H
#define REPORT_STAT_MODEL_PROGRAMS_H

#include "base/ptrmap.h"
#include "report/stat/model/process.h"

struct stat_program {
	char comm[32];	   /* "": processes without a name */
	char producer[64]; /* of the first process that was added */
	uint32_t processes;
	uint64_t begin_ns, wall_ns; /* from the begin of the first to the end of the last */
	struct stat_numbers numbers;
	struct stat_program *next;	/* in order of appearance */
	struct stat_program *same_hash; /* private */
};

/* Zeroed memory: no programs. Readers use first and count. */
struct stat_programs {
	struct stat_program *first, *last;
	uint32_t count;
	PTRMAP(struct stat_program) by_hash;
};

void stat_programs_done(struct stat_programs *ps);
/* Adds a process with final numbers to the sum of its program. 0 or -ENOMEM. */
int stat_programs_add(struct stat_programs *ps, const struct stat_process *p);
/* Adds all programs of another set. 0 or -ENOMEM: some were added. */
int stat_programs_merge(struct stat_programs *ps, const struct stat_programs *more);

#endif
