/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of top: a process each, or a program, container or unit each, with the figures of a
 * moment, sorted, filtered, and as a tree of processes. Made of a snapshot of the model of stat;
 * the rows are copies, and refer to nothing.
 */
#ifndef REPORT_TOP_ROWS_H
#define REPORT_TOP_ROWS_H

#include "report/stat/model/snapshot.h"
#include "report/top/row.h"

enum top_group { TOP_BY_PROCESS, TOP_BY_PROGRAM, TOP_BY_CONTAINER, TOP_BY_UNIT, TOP_GROUPS };

/* The columns that rows are sorted by, in their order on the screen. */
enum top_column {
	TOP_PID,
	TOP_GC,
	TOP_P99,
	TOP_MAX,
	TOP_ALLOC,
	TOP_HEAP,
	TOP_LOST,
	TOP_PROGRAM,
	TOP_COLUMNS
};

/* The names of both, as options have them; then NULL. */
extern const char *const top_group_names[], *const top_column_names[];

struct top_order {
	enum top_group group;
	enum top_column sort;
	bool reversed;	    /* the order that the column does not have by itself */
	bool tree;	    /* of processes */
	bool ended;	    /* processes that have ended, too */
	bool whole;	    /* rates since the begin of the run, not since the frame before */
	const char *filter; /* alternatives, separated by '|'; "": all */
	/* Of one group alone; "": of all. */
	enum top_group within;
	const char *within_name;
};

/*
 * Makes the rows of a snapshot at a moment. The pasts have the marks that rates are since: those of
 * the last frame if `next`, else of the one before. 0 or -ENOMEM; done() works after either.
 */
int top_rows_make(struct top_rows *rows, const struct stat_snapshot *snapshot, uint64_t at_ns,
		  const struct session *s, const struct top_pasts *pasts, bool next,
		  const struct top_order *order);
void top_rows_done(struct top_rows *rows);
/* Whether a text has one of the alternatives, upper and lower case being the same. */
bool top_filter_matches(const char *filter, const char *text);
/* The row with an id; NULL: there is none any more. */
const struct top_row *top_rows_find(const struct top_rows *rows, uint64_t id);

#endif
