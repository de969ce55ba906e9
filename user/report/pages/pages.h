/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of pages (report/pages/model/pages.h), each written at the end of a run: a function
 * that prints the model's numbers. One sink runs the model for all of them. It takes events of a
 * pipeline, and uses those of one process, or a reader's own batches. The size of a page is that of
 * the process. Of an address space, what was there when tracing began is the state at the start,
 * and did not happen.
 */
#ifndef REPORT_PAGES_PAGES_H
#define REPORT_PAGES_PAGES_H

#include "base/buf.h"
#include "report/pages/model/pages.h"
#include "session/session.h"
#include "stream/sink.h"

struct pages_report_options {
	struct pages_options model; /* page_bytes: where the process has none */
	uint32_t pid;		    /* of the process to report; 0: the first that has events */
	uint32_t top;		    /* rows of a table; 0: the usual number */
};

/* What a report prints: plain data. */
struct pages_view {
	const struct session *session;
	const struct pages_model *model;
	/* What is known of the process: the name of its program, or empty; 0: no pid. */
	const char *program;
	uint32_t pid;
	const struct mappings *mappings;
	uint64_t others; /* events of other processes, which are left out */
	uint32_t top;	 /* rows of a table; not 0 */
	bool has_top;	 /* it was asked for */
};

/* Writes a report. 0 or -ENOMEM. */
typedef int pages_put(struct buf *b, const struct pages_view *v);

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int pages_new(const struct session *s, int fd, pages_put *put, const struct pages_report_options *o,
	      struct sink **ret);
/* For a reader, instead of events: its batches, and what it found. 0 or -ENOMEM. */
int pages_take(struct sink *k, const struct ebt_pagetrace_event *ev, size_t n);
void pages_set_trace(struct sink *k, const struct pages_trace *t);

/* The reports as text. */
int pages_summary_text(struct buf *b, const struct pages_view *v);
int pages_totals_text(struct buf *b, const struct pages_view *v);
int pages_fragmentation_text(struct buf *b, const struct pages_view *v);
int pages_occupancy_text(struct buf *b, const struct pages_view *v);
int pages_churn_text(struct buf *b, const struct pages_view *v);
int pages_heat_text(struct buf *b, const struct pages_view *v);
int pages_lifetimes_text(struct buf *b, const struct pages_view *v);
int pages_owners_text(struct buf *b, const struct pages_view *v);
int pages_damage_text(struct buf *b, const struct pages_view *v);

#endif
