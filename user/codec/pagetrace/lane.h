/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One lane of an indexed page trace, read in order of time, block by block. A block is read when its
 * first event is asked for, so a lane that has not begun or has ended needs no buffer.
 */
#ifndef CODEC_PAGETRACE_LANE_H
#define CODEC_PAGETRACE_LANE_H

#include "codec/pagetrace/index.h"
#include "codec/pagetrace/walk.h"

struct pagetrace_lane {
	struct pagetrace_walk walk;
	bool is_open;	  /* the walk is in a block, */
	bool has_begun;	  /* whose head it has decoded */
	uint32_t block;	  /* that one, else the next; PAGETRACE_NO_BLOCK: the end */
	uint64_t next_ns; /* no event that follows is earlier */
	uint64_t *buffer;
	size_t buffer_bytes;
};

struct pagetrace_trace {
	struct pagetrace_index index;
	ebt_pagetrace_pread *pread;
	void *ctx;
};

void pagetrace_lane_init(struct pagetrace_lane *l, const struct pagetrace_index *x, uint32_t lane,
			 struct ebt_pagetrace_counts *counts);
void pagetrace_lane_done(struct pagetrace_lane *l);

/* The next events, up to cap > 0: > 0; 0 at the end; or -errno. */
ssize_t pagetrace_lane_read(struct pagetrace_lane *l, const struct pagetrace_trace *t,
			    struct ebt_pagetrace_event *ev, size_t cap);

#endif
