/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue of pieces of memory in one buffer, apart from its only user (records.h) as it knows
 * nothing of what it holds: records copied out of the BPF ring buffer that wait to be dispatched,
 * in their order. Making a stack of one may take a millisecond, in which the traced programs fill
 * the buffer: so it is drained first.
 */
#ifndef SOURCE_BPF_SPOOL_H
#define SOURCE_BPF_SPOOL_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory is empty. Fields are private. */
struct bpf_spool {
	uint8_t *data;
	size_t first, end, cap; /* [first, end) is used */
	uint64_t put, got;	/* records, ever */
};

void bpf_spool_done(struct bpf_spool *s);
int bpf_spool_put(struct bpf_spool *s, const void *record, size_t bytes); /* 0 or -ENOMEM */
/* The oldest record, which is removed: valid until the next put. NULL: there is none. */
const void *bpf_spool_next(struct bpf_spool *s, size_t *ret_bytes);
/* Puts back the record that was removed last, of `bytes` bytes, as the oldest. Before the next
 * put. */
void bpf_spool_return(struct bpf_spool *s, size_t bytes);

static inline size_t bpf_spool_bytes(const struct bpf_spool *s)
{
	return s->end - s->first;
}

#endif
