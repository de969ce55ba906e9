/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of <ebtrace/memtrace.h>, for a caller that has many: with less memory each. */
#ifndef CODEC_MEMTRACE_READ_H
#define CODEC_MEMTRACE_READ_H

#include <ebtrace/memtrace.h>
#include <stdbool.h>
#include <stddef.h>

/* The buffer of a reader, which holds several packets. */
#define MEMTRACE_BUFFER_BYTES ((size_t)256 << 10)

/* As ebt_memtrace_reader_new(), with a buffer of so many bytes, at most MEMTRACE_BUFFER_BYTES and
 * above 0, that grows if a packet needs it: ebt_memtrace_room() has room for less than 64 KiB. */
int memtrace_reader_new_small(unsigned flags, size_t bytes, struct ebt_memtrace_reader **ret);
/* As ebt_memtrace_select(), but the positions of other domains are another reader's, which has read
 * the whole trace: so a reader needs no memory for each of them. */
void memtrace_reader_select_alone(struct ebt_memtrace_reader *r, uint16_t domain);

/*
 * Of a reader that selects a domain, and whose caller can leave out bytes: after
 * ebt_memtrace_read() returned -EAGAIN, how many to leave out before the next ones that are put, as
 * they are of a packet of another domain. Such a packet that ends behind the end of the trace is no
 * damage then. The first call, before the first event, returns 0.
 */
uint64_t memtrace_reader_skip(struct ebt_memtrace_reader *r);
/* Leaves out so many more, which have none of its packets. False: it cannot now, as it has bytes of
 * what may be a packet that they belong to. */
bool memtrace_reader_leave_out(struct ebt_memtrace_reader *r, uint64_t bytes);

#endif
