/* SPDX-License-Identifier: BSD-2-Clause */
/* A row of top, and all rows of a frame: plain data without references. */
#ifndef REPORT_TOP_ROW_H
#define REPORT_TOP_ROW_H

#include "report/top/past.h"

struct top_figures {
	/* Of the time since the frame before, or since the begin of the run. */
	uint64_t gc_ns, elapsed_ns; /* of all domains; elapsed_ns 0: the share is not known */
	bool has_alloc;
	double alloc_bytes; /* a second */
	/* Since the begin of the run. */
	uint64_t pauses, p99_ns, max_ns;
	bool has_heap;
	uint64_t heap_bytes; /* the last value */
	uint64_t lost_events, lost_words, lost_uncounted;
};

/* The share of time in GC, in per cent; negative: not known. */
double top_figures_gc(const struct top_figures *f);

#define TOP_NAME_BYTES 64
#define TOP_DEPTH_MAX  31
struct top_row {
	uint64_t id; /* the same in each frame; never 0 */
	uint32_t process,
		in_order;     /* its index in the registry, and its number there; 0: released */
	uint32_t number;      /* of the model's processes */
	uint32_t pid, parent; /* 0: not known, or a group */
	uint32_t processes;   /* 1, or those of the group */
	bool is_group, ended;
	char name[TOP_NAME_BYTES]; /* of the program, or of the group */
	struct top_where where;
	struct top_figures figures;
	/* In the tree: its depth, and at which depths above it a line goes on; is_last of its
	 * parent. */
	uint8_t depth;
	uint32_t open;
	bool is_last;
};

/* Zeroed memory: none. */
struct top_rows {
	struct top_row *row;
	uint32_t count, cap;
	/* Of all processes, whatever is shown. */
	uint32_t running, ended;
	struct top_figures total;
	uint64_t at_ns; /* of the frame */
};

#endif
