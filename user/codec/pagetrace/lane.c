/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/pagetrace/lane.h"

#include <errno.h>
#include <stdlib.h>

void pagetrace_lane_init(struct pagetrace_lane *l, const struct pagetrace_index *x, uint32_t lane,
			 struct ebt_pagetrace_counts *counts)
{
	*l = (struct pagetrace_lane){
		.block = x->chain[lane].first,
	};
	l->walk.counts = counts;
	l->walk.p = x->lane[lane].p;
}

void pagetrace_lane_done(struct pagetrace_lane *l)
{
	free(l->buffer);
}

static int reserve(struct pagetrace_lane *l, size_t bytes)
{
	if (bytes <= l->buffer_bytes)
		return 0;
	free(l->buffer);
	l->buffer = malloc(bytes);
	l->buffer_bytes = l->buffer ? bytes : 0;
	return l->buffer ? 0 : -ENOMEM;
}

/* Reads a block. What follows its largest size, or is not there any more, is damage. */
static int open_block(struct pagetrace_lane *l, const struct pagetrace_trace *t)
{
	uint64_t offset = t->index.block[l->block].offset;
	uint64_t bytes = pagetrace_block_end(&t->index, l->block) - offset;
	size_t want = bytes < EBT_PAGETRACE_BLOCK_BYTES ? (size_t)bytes : EBT_PAGETRACE_BLOCK_BYTES;
	int err = reserve(l, want);
	if (err)
		return err;
	ssize_t n = t->pread(t->ctx, l->buffer, want, offset);
	if (n < 0 || (size_t)n > want)
		return n < 0 ? (int)n : -EIO;
	struct pagetrace_walk *k = &l->walk;
	k->word = l->buffer;
	k->words = (size_t)n / 8;
	k->offset = offset;
	k->whole = true;
	k->tail_bytes = bytes - k->words * 8;
	k->left = 0;
	l->is_open = true;
	l->has_begun = false;
	return 0;
}

static void close_block(struct pagetrace_lane *l, const struct pagetrace_trace *t)
{
	l->is_open = false;
	l->block = t->index.block[l->block].next;
	if (l->block != PAGETRACE_NO_BLOCK)
		return;
	free(l->buffer);
	l->buffer = NULL;
	l->buffer_bytes = 0;
}

/* A second block in what was one when the trace was indexed: not of this lane. */
static void skip_block(struct pagetrace_walk *k, int32_t p)
{
	k->p = p;
	k->offset -= EBT_PAGETRACE_HEAD_BYTES;
	k->tail_bytes += k->words * 8 + EBT_PAGETRACE_HEAD_BYTES;
	k->words = 0;
	k->left = 0;
}

/* Reads on in the block until cap events are read or it ends. Returns their number. */
static size_t read_block(struct pagetrace_lane *l, const struct pagetrace_trace *t,
			 struct ebt_pagetrace_event *ev, size_t cap)
{
	struct pagetrace_walk *k = &l->walk;
	size_t n = 0;
	while (l->is_open) {
		int32_t p = k->p;
		n += pagetrace_walk_events(k, ev + n, cap - n);
		if (n == cap)
			break;
		switch (pagetrace_walk_next(k, ev + n)) {
		case PAGETRACE_NEXT_DAMAGE:
			n++;
			break;
		case PAGETRACE_NEXT_BLOCK:
			if (l->has_begun)
				skip_block(k, p);
			l->has_begun = true;
			break;
		case PAGETRACE_NEXT_END:
		case PAGETRACE_NEXT_MORE:
			close_block(l, t);
			break;
		case PAGETRACE_NEXT_EVENTS:
			break;
		}
	}
	return n;
}

ssize_t pagetrace_lane_read(struct pagetrace_lane *l, const struct pagetrace_trace *t,
			    struct ebt_pagetrace_event *ev, size_t cap)
{
	size_t n = 0;
	while (!n && l->block != PAGETRACE_NO_BLOCK) {
		int err = l->is_open ? 0 : open_block(l, t);
		if (err)
			return err;
		n = read_block(l, t, ev, cap);
	}
	return (ssize_t)n;
}
