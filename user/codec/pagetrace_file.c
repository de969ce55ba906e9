/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader of page traces in the order of time: a heap of lanes by the time that none of their
 * next events is earlier than. The first lane's events are copied up to the time of the runner-up.
 */
#include "codec/pagetrace_lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head {
	uint64_t time_ns;
	uint64_t offset; /* of the block: orders lanes of one P */
	int32_t p;
	uint32_t lane;
};

struct ebt_pagetrace_file {
	struct pagetrace_trace trace;
	struct pagetrace_lane *lane;
	struct head *heap; /* NULL: not merged yet */
	size_t heads;
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
	for (uint32_t i = 0; f->lane && i < f->trace.index.lanes; i++)
		pagetrace_lane_done(&f->lane[i]);
	pagetrace_index_done(&f->trace.index);
	free(f->lane);
	free(f->heap);
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
	struct pagetrace_lane *l = &f->lane[lane];
	ssize_t n = 0;
	while (!n && l->block != PAGETRACE_NO_BLOCK)
		n = pagetrace_lane_read(l, &f->trace, ev, cap, UINT64_MAX);
	return n;
}

/* Whether a's events come first if their times are equal. */
static bool is_first(const struct head *a, const struct head *b)
{
	return a->p != b->p ? a->p < b->p : a->offset < b->offset;
}

static bool is_before(const struct head *a, const struct head *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : is_first(a, b);
}

static void set_head(const struct ebt_pagetrace_file *f, struct head *h, uint32_t lane)
{
	const struct pagetrace_lane *l = &f->lane[lane];
	*h = (struct head){
		.time_ns = l->next_ns,
		.offset = f->trace.index.block[l->block].offset,
		.p = f->trace.index.lane[lane].p,
		.lane = lane,
	};
}

static void sift_down(struct ebt_pagetrace_file *f, size_t i)
{
	struct head *heap = f->heap, moved = heap[i];
	for (size_t child; (child = 2 * i + 1) < f->heads; i = child) {
		child += child + 1 < f->heads && is_before(&heap[child + 1], &heap[child]);
		if (!is_before(&heap[child], &moved))
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

static int begin_merge(struct ebt_pagetrace_file *f)
{
	uint32_t lanes = f->trace.index.lanes;
	f->heap = calloc(lanes + 1, sizeof(*f->heap));
	if (!f->heap)
		return -ENOMEM;
	for (uint32_t i = 0; i < lanes; i++)
		set_head(f, &f->heap[i], i);
	f->heads = lanes;
	for (size_t i = lanes / 2; i-- > 0;)
		sift_down(f, i);
	return 0;
}

/* The last time at which the first lane still comes before all others. */
static uint64_t first_until_ns(const struct ebt_pagetrace_file *f)
{
	const struct head *h = f->heap, *second = &h[1];
	if (f->heads < 2)
		return UINT64_MAX;
	if (f->heads > 2 && is_before(&h[2], second))
		second = &h[2];
	return is_first(&h[0], second) ? second->time_ns : second->time_ns - 1;
}

ssize_t ebt_pagetrace_read_all(struct ebt_pagetrace_file *f, struct ebt_pagetrace_event *ev,
			       size_t cap)
{
	int err = f->heap ? 0 : begin_merge(f);
	if (err)
		return err;
	size_t n = 0;
	while (n < cap && f->heads) {
		uint32_t lane = f->heap[0].lane;
		struct pagetrace_lane *l = &f->lane[lane];
		ssize_t got = pagetrace_lane_read(l, &f->trace, ev + n, cap - n, first_until_ns(f));
		if (got < 0)
			return n ? (ssize_t)n : got;
		n += (size_t)got;
		if (l->block == PAGETRACE_NO_BLOCK)
			f->heap[0] = f->heap[--f->heads];
		else
			set_head(f, &f->heap[0], lane);
		if (f->heads)
			sift_down(f, 0);
	}
	return (ssize_t)n;
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
