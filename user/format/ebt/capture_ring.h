/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last blocks of a capture, in memory that is limited. An entry is made when a block gets its
 * first event; the bytes of the block come later, in the same order. Blocks that are not needed any
 * more are dropped, and the oldest ones where the limit demands it. Not thread-safe.
 */
#ifndef FORMAT_EBT_CAPTURE_RING_H
#define FORMAT_EBT_CAPTURE_RING_H

#include "session/totals.h"
#include <ebtrace/event.h>
#include <stddef.h>

struct capture_ring_block {
	uint64_t first_ns;	/* of its first event */
	struct totals before;	/* of the run, up to that */
	struct ebt_event *open; /* the begins of the spans that were open then */
	uint32_t opens;
	void *block; /* NULL: it is not closed yet */
	size_t bytes;
};

/* Zeroed memory, with the limit set, is empty. Readers use at, first and count. */
struct capture_ring {
	size_t limit; /* bytes */
	struct capture_ring_block *at;
	uint32_t first, count, cap; /* at[first .. first + count), the oldest first */
	uint32_t filled;	    /* of them, that have their bytes */
	size_t bytes;		    /* in use */
};

/* `open` becomes the ring's, also after an error. 0 or -ENOMEM. */
int capture_ring_begin(struct capture_ring *r, uint64_t first_ns, const struct totals *before,
		       struct ebt_event *open, uint32_t opens);
/* Copies the bytes of the oldest block that has none. 0 or -ENOMEM. */
int capture_ring_fill(struct capture_ring *r, const void *block, size_t bytes);
/* Drops the blocks that have only events older than from_ns, then the oldest ones until the ring is
 * within its limit. The last block is kept. */
void capture_ring_trim(struct capture_ring *r, uint64_t from_ns);
void capture_ring_done(struct capture_ring *r);

#endif
