/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writers of the report of stat print (text.h, json.h): plain data. */
#ifndef REPORT_STAT_REPORT_H
#define REPORT_STAT_REPORT_H

#include "report/stat/blame.h"
#include "report/stat/model/snapshot.h"
#include "report/stat/sections.h"

/* A line of --interval in text: the stretch since the line before. */
struct stat_line {
	uint64_t begin_ns, end_ns; /* since the begin of the run */
	const struct histogram *pauses;
	double gc_percent;
	uint64_t minors, majors;
	double words_per_s; /* allocated in the minor heaps; negative: not known */
	uint64_t lost_events, lost_words, lost_uncounted;
	const struct blame_pause *open; /* the longest at its end; NULL: none, or not asked for */
};

struct stat_report {
	const struct session *session;
	const struct stat_snapshot *snapshot;
	const struct stat_numbers *total;
	const struct stat_sections *sections; /* of the text; JSON has all processes */
	uint64_t wall_ns;
	uint64_t begin_ns;		/* on the session's clock */
	const struct blame_sums *blame; /* NULL: not asked for, and nothing was counted */
	unsigned cpus;			/* of the machine that the run was on; 0: not known */
	bool verbose;			/* all percentiles and phases */
	bool is_counted;		/* in the kernel: there were no events of phases */
	/* Of one of several of a run: its moment. */
	struct moment at;
	bool has_open;			/* it has the next one, which may be NULL */
	const struct blame_pause *open; /* the longest then */
};

#endif
