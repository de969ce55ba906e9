/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sections of the report of stat.h: one a process, or one a program, which is all processes of one
 * name, added up. Private to sink/stat*.c.
 */
#ifndef SINK_STAT_SECTIONS_H
#define SINK_STAT_SECTIONS_H

#include "sink/stat.h"
#include "sink/stat_model.h"

struct stat_section {
	const struct stat_process *numbers;
	const char *comm;   /* of a program; NULL: it is of one process */
	uint32_t processes; /* that are in it */
	uint64_t wall_ns;   /* from the begin of the first to the end of the last */
};

struct stat_sections {
	struct stat_section *section;
	uint32_t count;
	uint32_t shown; /* the first ones; the others have less GC time */
	struct stat_process *sums;
};

/* Of a model that has ended. More than STAT_MANY processes are put together unless `by` says
 * otherwise; `top`: 0 for all. 0 or -ENOMEM; done() works after either. */
#define STAT_MANY 8
int stat_sections_make(const struct stat_model *m, enum stat_by by, uint32_t top,
		       struct stat_sections *ret);
void stat_sections_done(struct stat_sections *s);

#endif
