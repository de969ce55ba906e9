/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of page traces in the order of time: its index, its lanes, and their merge. */
#include "codec/pagetrace/merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ebt_pagetrace_file {
	struct pagetrace_trace trace;
	struct pagetrace_lane *lane;
	struct pagetrace_merge *merge;	    /* NULL: not begun */
	struct ebt_pagetrace_counts counts; /* of the lanes */
};

static int new_lanes(struct ebt_pagetrace_file *f)
{
	const struct pagetrace_index *x = &f->trace.index;
	f->lane = calloc(x->lanes + 1, sizeof(*f->lane));
	if (!f->lane)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->lanes; i++)
		pagetrace_lane_init(&f->lane[i], x, i, &f->counts);
	return 0;
}

int ebt_pagetrace_open(ebt_pagetrace_pread *pread, void *ctx, struct ebt_pagetrace_file **ret,
		       char *reason)
{
	struct ebt_pagetrace_file *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->trace.pread = pread;
	f->trace.ctx = ctx;
	int err = pagetrace_index_init(&f->trace.index, pread, ctx);
	err = err ? err : new_lanes(f);
	if (!err) {
		*ret = f;
		return 0;
	}
	if (reason)
		snprintf(reason, EBT_PAGETRACE_REASON_BYTES, "%s",
			 err == -EBADMSG ? f->trace.index.reason : strerror(-err));
	ebt_pagetrace_close(f);
	return err;
}

void ebt_pagetrace_close(struct ebt_pagetrace_file *f)
{
	if (!f)
		return;
	pagetrace_merge_free(f->merge);
	for (uint32_t i = 0; f->lane && i < f->trace.index.lanes; i++)
		pagetrace_lane_done(&f->lane[i]);
	pagetrace_index_done(&f->trace.index);
	free(f->lane);
	free(f);
}

size_t ebt_pagetrace_lanes(const struct ebt_pagetrace_file *f,
			   const struct ebt_pagetrace_lane **ret)
{
	*ret = f->trace.index.lane;
	return f->trace.index.lanes;
}

ssize_t ebt_pagetrace_read_lane(struct ebt_pagetrace_file *f, size_t lane,
				struct ebt_pagetrace_event *ev, size_t cap)
{
	if (lane >= f->trace.index.lanes)
		return -EINVAL;
	return pagetrace_lane_read(&f->lane[lane], &f->trace, ev, cap);
}

ssize_t ebt_pagetrace_read_all(struct ebt_pagetrace_file *f, struct ebt_pagetrace_event *ev,
			       size_t cap)
{
	int err = f->merge ? 0 : pagetrace_merge_new(&f->trace, f->lane, &f->merge);
	return err ? err : pagetrace_merge_read(f->merge, ev, cap);
}

struct ebt_pagetrace_counts ebt_pagetrace_file_counts(const struct ebt_pagetrace_file *f)
{
	struct ebt_pagetrace_counts c = f->counts;
	const struct ebt_pagetrace_counts *whole = &f->trace.index.counts;
	c.blocks = whole->blocks;
	c.syncs = whole->syncs;
	c.has_boot = whole->has_boot;
	return c;
}

const char *ebt_pagetrace_file_reason(const struct ebt_pagetrace_file *f)
{
	return f->trace.index.reason;
}
