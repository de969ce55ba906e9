/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/capture_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static size_t open_bytes(const struct capture_ring_block *b)
{
	return b->opens * sizeof(*b->open);
}

int capture_ring_begin(struct capture_ring *r, uint64_t first_ns, const struct totals *before,
		       struct ebt_event *open, uint32_t opens)
{
	if (r->first && r->first >= r->cap / 2) {
		memmove(r->at, r->at + r->first, r->count * sizeof(*r->at));
		r->first = 0;
	}
	if (!array_room(r->at, r->cap, r->first + r->count)) {
		free(open);
		return -ENOMEM;
	}
	struct capture_ring_block *b = &r->at[r->first + r->count++];
	*b = (struct capture_ring_block){
		.first_ns = first_ns, .before = *before, .open = open, .opens = opens};
	r->bytes += open_bytes(b);
	return 0;
}

int capture_ring_fill(struct capture_ring *r, const void *block, size_t bytes)
{
	struct capture_ring_block *b = &r->at[r->first + r->filled];
	b->block = malloc(bytes);
	if (!b->block)
		return -ENOMEM;
	memcpy(b->block, block, bytes);
	b->bytes = bytes;
	r->bytes += bytes;
	r->filled++;
	return 0;
}

static void drop_first(struct capture_ring *r)
{
	struct capture_ring_block *b = &r->at[r->first];
	r->bytes -= b->bytes + open_bytes(b);
	free(b->block);
	free(b->open);
	r->first++;
	r->count--;
	r->filled--;
}

void capture_ring_trim(struct capture_ring *r, uint64_t from_ns)
{
	/* A block may have events up to the first of the next one. */
	while (r->filled && r->count > 1 &&
	       (r->at[r->first + 1].first_ns < from_ns || r->bytes > r->limit))
		drop_first(r);
}

void capture_ring_done(struct capture_ring *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		free(r->at[r->first + i].block);
		free(r->at[r->first + i].open);
	}
	free(r->at);
	*r = (struct capture_ring){0};
}
