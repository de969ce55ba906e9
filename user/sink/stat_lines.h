/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What has been counted up to the end of a line of --interval. There may be any number of lanes and
 * of lines, so a line looks only at the lanes and processes that were used since the one before:
 * what the others bring is kept as a sum that time makes grow. Private to sink/stat*.c.
 */
#ifndef SINK_STAT_LINES_H
#define SINK_STAT_LINES_H

#include "sink/stat_model.h"

struct stat_marks {
	uint64_t elapsed_ns, gc_ns, minors, majors, words;
	bool has_words;
};

struct stat_marks stat_lines_marks(struct stat_model *m, uint64_t now_ns);
/* The lane is going to change, and is up to date. */
void stat_lines_change(struct stat_model *m, struct stat_lane *l);
/* It will not until it is said again. */
void stat_lines_keep(struct stat_model *m, struct stat_lane *l);
/* The time of so many lanes that are kept begins or ends. */
void stat_lines_open(struct stat_model *m, uint32_t lanes, uint64_t ns);
void stat_lines_close(struct stat_model *m, uint32_t lanes, uint64_t ns);

#endif
