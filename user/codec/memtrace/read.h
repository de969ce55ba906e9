/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of <ebtrace/memtrace.h>, for a caller that has many: with less memory each. */
#ifndef CODEC_MEMTRACE_READ_H
#define CODEC_MEMTRACE_READ_H

#include <ebtrace/memtrace.h>
#include <stdbool.h>
#include <stddef.h>

/* The buffer of a reader, which holds several packets. */
#define MEMTRACE_BUFFER_BYTES ((size_t)256 << 10)

/* As ebt_memtrace_reader_new(), with a buffer of `bytes` bytes, from 1 to MEMTRACE_BUFFER_BYTES. It
 * grows if a packet needs it: ebt_memtrace_room() has room for less than 64 KiB. */
int memtrace_reader_new_small(unsigned flags, size_t bytes, struct ebt_memtrace_reader **ret);
/* As ebt_memtrace_select(), but without the positions of other domains, which need memory: another
 * reader that has read the whole trace has them. */
void memtrace_reader_select_alone(struct ebt_memtrace_reader *r, uint16_t domain);

/*
 * For a reader that selects a domain, if the caller can skip bytes of the trace. After
 * ebt_memtrace_read() returned -EAGAIN: the number of bytes that the caller must skip before it
 * puts the next ones, as they are of a packet of another domain. If such a packet ends behind the
 * end of the trace, that is no damage then. The first call, before the first event, returns 0.
 */
uint64_t memtrace_reader_skip(struct ebt_memtrace_reader *r);
/* The caller skips `bytes` bytes more, which hold no packets of the domain. False: it must not now,
 * as the reader has bytes of what may be the packet that they belong to, or lacks the first
 * packet. */
bool memtrace_reader_leave_out(struct ebt_memtrace_reader *r, uint64_t bytes);

#endif
