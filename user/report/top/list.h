/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws the list of top, and the screen of its keys, into a frame. */
#ifndef REPORT_TOP_LIST_H
#define REPORT_TOP_LIST_H

#include "report/top/frame.h"
#include "report/top/view.h"

/* What a frame has beside the rows. */
struct top_caption {
	const char *source; /* "ring+bpf" */
	const char *note;   /* what to know, a line; "": nothing */
	uint64_t wall_ns;   /* since the begin of the run */
	bool is_live;	    /* processes that run, with keys; else one frame, or a file */
	bool has_keys;	    /* a line of keys at the end */
};

/* Lines of a list besides its rows. */
#define TOP_LIST_HEAD 4

void top_list_draw(struct top_frame *f, struct top_view *v, const struct top_rows *rows,
		   const struct top_caption *c);
void top_help_draw(struct top_frame *f);
/* The last line: keys, or the question that is asked. */
void top_keys_draw(struct top_frame *f, const struct top_view *v);

#endif
