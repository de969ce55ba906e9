/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the blocks of a capture (codec/capture/capture.h) of events. Each block contains all that
 * its events refer to, so it may be part of any capture of this session; the first block also has
 * all processes that are announced. Memory follows the number of living processes and their names,
 * not the length of the stream. Where blocks go is the caller's choice. Not thread-safe.
 */
#ifndef FORMAT_EBT_BLOCKS_H
#define FORMAT_EBT_BLOCKS_H

#include "codec/capture/capture.h"
#include "session/session.h"

struct ebt_blocks;

struct ebt_blocks_options {
	/* Called with each block, in order, at the earliest while the next block is filled. The
	 * block is valid during the call. 0 or -errno. */
	int (*take)(void *ctx, const void *block, size_t bytes);
	void *ctx;
	/* The capture is of a part of the run, which begins and ends here, as far as that is
	 * known. */
	bool is_part;
	struct moment begin, end;
};

/* The session is kept. 0 or -errno. */
int ebt_blocks_new(const struct session *s, const struct ebt_blocks_options *o,
		   struct ebt_blocks **ret);
void ebt_blocks_free(struct ebt_blocks *b); /* NULL is allowed */

/* As events() and forget() of struct sink_ops. 0 or -errno: the first error, from then on. */
int ebt_blocks_events(struct ebt_blocks *b, const struct ebt_event *ev, size_t n);
int ebt_blocks_forget(struct ebt_blocks *b, uint32_t process);
/* Puts an item into the open block. It must not be a numbered one. */
int ebt_blocks_item(struct ebt_blocks *b, const struct capture_item *item);
/* Closes the open block, if it is not empty. `take` may not have been called for it yet. */
int ebt_blocks_close(struct ebt_blocks *b);
/* Waits until `take` has been called for all closed blocks. */
int ebt_blocks_finish(struct ebt_blocks *b);
/* Makes the END block, of a capture with these totals, and finishes. */
int ebt_blocks_end(struct ebt_blocks *b, const struct totals *t);
/* The number of the open block, from 1. */
uint64_t ebt_blocks_number(const struct ebt_blocks *b);
/* When the open block got its first event, CLOCK_MONOTONIC ns; 0: it is empty. */
uint64_t ebt_blocks_opened_ns(const struct ebt_blocks *b);

#endif
