/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws one process of top into a frame: its history, domains, phases, last pauses and sites. */
#ifndef REPORT_TOP_DETAIL_H
#define REPORT_TOP_DETAIL_H

#include "report/top/frame.h"
#include "report/top/list.h"

/* A process that is opened: all of a snapshot, and of the rows of it. */
struct top_opened {
	const struct session *session;
	const struct top_row *row;
	const struct stat_process *process;
	const struct top_past *past; /* NULL: there is none any more */
	uint64_t begin_ns;	     /* of the run, from which times are counted */
};

void top_detail_draw(struct top_frame *f, const struct top_view *v, const struct top_opened *o,
		     const struct top_caption *c);

#endif
