/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of mem (report/mem/model/mem.h), each written at the end of a run: a function that
 * prints the model's numbers. One sink runs the model for all of them.
 */
#ifndef REPORT_MEM_MEM_H
#define REPORT_MEM_MEM_H

#include "base/buf.h"
#include "report/mem/model/mem.h"
#include "session/display_names.h"
#include "session/session.h"
#include "stream/sink.h"

struct mem_diff;

struct mem_report_options {
	struct mem_options model;
	uint32_t top;	      /* rows of a table, those with the most bytes; 0: as many as matter */
	uint64_t interval_ns; /* a report at the end of each, too; 0: none */
	bool *refused; /* set if the report needs ends of objects, and there are none; or NULL */
	struct mem_diff *diff; /* of the report that compares; of others NULL */
};

/* What a report prints: plain data. */
struct mem_view {
	const struct session *session;
	const struct mem_model *model;
	struct display_names *names; /* of functions */
	struct mem_report_options opt;
	struct moment at; /* of one of several of a run */
};

/* Writes a report. 0 or -ENOMEM. */
typedef int mem_put(struct buf *b, const struct mem_view *v);

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int mem_new(const struct session *s, int fd, mem_put *put, const struct mem_report_options *o,
	    struct sink **ret);

/* The reports as text. All but hotspots need MEM_FATES, the summary also MEM_TIMELINE. */
int mem_summary_text(struct buf *b, const struct mem_view *v);
int mem_hotspots_text(struct buf *b, const struct mem_view *v);
int mem_live_text(struct buf *b, const struct mem_view *v);
int mem_lifetimes_text(struct buf *b, const struct mem_view *v);

#endif
