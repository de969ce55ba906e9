/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the blocks of a page trace are, found in one pass over it, and which lane each one is of:
 * those of a P, in order of time. When the blocks of a P go back in time, as of two processes that
 * write to one file, the P has several lanes, and a block joins the one that ends last before it.
 */
#ifndef CODEC_PAGETRACE_INDEX_H
#define CODEC_PAGETRACE_INDEX_H

#include <ebtrace/pagetrace.h>

#define PAGETRACE_NO_BLOCK UINT32_MAX

/* A block reaches to the next one of the array, whatever lane that is of; the last to the end. */
struct pagetrace_block {
	uint64_t offset;
	uint32_t next; /* of the same lane */
};

/* Beside the lane of the same index that the caller of the public header sees. */
struct pagetrace_chain {
	uint32_t first, last; /* blocks */
	uint32_t older;	      /* lane of the same P, used before this one; or PAGETRACE_NO_LANE */
	uint64_t begin_ns;    /* of the first block */
	uint64_t end_ns;      /* no block that begins before it can be added */
};

struct pagetrace_index {
	struct pagetrace_block *block;
	struct ebt_pagetrace_lane *lane;
	struct pagetrace_chain *chain;
	uint32_t blocks, blocks_cap, lanes, lanes_cap;
	uint32_t *newest; /* by P + 1: the lane used last, plus 1; 0: none */
	uint32_t newest_count;
	uint64_t bytes; /* of the trace */
	struct ebt_pagetrace_counts counts;
	char reason[EBT_PAGETRACE_REASON_BYTES]; /* of the first damage, or the error */
};

/* As ebt_pagetrace_open(). The caller calls _done() in any case. */
int pagetrace_index_init(struct pagetrace_index *x, ebt_pagetrace_pread *pread, void *ctx);
void pagetrace_index_done(struct pagetrace_index *x);

/* The offset behind a block. */
static inline uint64_t pagetrace_block_end(const struct pagetrace_index *x, uint32_t block)
{
	return block + 1 < x->blocks ? x->block[block + 1].offset : x->bytes;
}

#endif
