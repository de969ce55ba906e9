/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all lanes and processes together have counted up to a moment, for the lines of --interval.
 * There may be any number of lanes and of lines, so a line visits only the lanes and processes that
 * were used since the one before: the share of the others is kept as a sum that grows with time.
 */
#ifndef REPORT_STAT_MODEL_PROGRESS_H
#define REPORT_STAT_MODEL_PROGRESS_H

#include "report/stat/model/lane.h"

struct stat_marks {
	uint64_t elapsed_ns, gc_ns, minors, majors, words;
	bool has_words;
};

/* Fields are private but for `on`. Zeroed memory with `on` false: it keeps nothing. */
struct stat_progress {
	bool on;
	uint64_t live, elapsed_ns; /* of the lanes that are kept, as at moment 0 */
	uint64_t stopping, gc_ns;
	struct stat_counted counted;
	bool has_words;
	struct stat_lane *changed; /* since the last line */
	struct stat_process *changed_processes;
};

struct stat_marks stat_progress_at(struct stat_progress *g, uint64_t now_ns);
/* Refers to no lane and no process any more, until it changes: all are kept. */
void stat_progress_settle(struct stat_progress *g);
/* The slow part of stat_progress_change(): the lane is kept, or not in the list of changed ones. */
void stat_progress_note(struct stat_progress *g, struct stat_lane *l);
/* The lane, which is up to date, is going to change. */
static inline void stat_progress_change(struct stat_progress *g, struct stat_lane *l)
{
	if (g->on && (l->kept || !l->is_changed || !l->process->is_changed))
		stat_progress_note(g, l);
}
/* The lane does not change until stat_progress_change() is called again. */
void stat_progress_keep(struct stat_progress *g, struct stat_lane *l);
/* The time of `lanes` lanes that are kept begins or ends. */
void stat_progress_open(struct stat_progress *g, uint32_t lanes, uint64_t ns);
void stat_progress_close(struct stat_progress *g, uint32_t lanes, uint64_t ns);

#endif
