/* SPDX-License-Identifier: BSD-2-Clause */
/* The sections of the text of stat: one a process, or one a program, the ones with most GC time. */
#ifndef REPORT_STAT_SECTIONS_H
#define REPORT_STAT_SECTIONS_H

#include "report/stat/model/programs.h"
#include "report/stat/model/snapshot.h"

/* By default processes, or programs if there are more than STAT_MANY processes. */
enum stat_by { STAT_BY_DEFAULT, STAT_BY_PROGRAM, STAT_BY_PROCESS };
#define STAT_MANY 8

struct stat_section {
	const struct stat_numbers *numbers;
	const struct stat_process *process; /* NULL: it is of a program */
	const struct stat_program *program; /* NULL: it is of a process */
	uint64_t wall_ns;
};

struct stat_sections {
	struct stat_section *section;
	uint32_t count;
	uint32_t shown; /* the first ones; the others have less GC time */
	bool programs;	/* all of them are of programs; else those of processes that have none */
	struct stat_programs sums;
};

/* top: 0 for all. The snapshot is kept. 0 or -ENOMEM; done() works after either. */
int stat_sections_make(const struct stat_snapshot *m, enum stat_by by, uint32_t top,
		       struct stat_sections *ret);
void stat_sections_done(struct stat_sections *s);

#endif
