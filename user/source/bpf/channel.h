/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracer's end of the channel from the BPF programs (bpf/channel.bpf.h), apart from its only
 * user (kernel.h) as its memory order against the kernel is tested without one: reads the records
 * of a BPF ring buffer, in the order in which they were reserved, without a copy.
 *
 * The kernel maps all pages of the buffer at once, and the process's resident memory counts each
 * mapping of a page. So the buffer is mapped once, with as much of its begin behind its end as the
 * longest record needs to be in one piece.
 */
#ifndef SOURCE_BPF_CHANNEL_H
#define SOURCE_BPF_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: not open. Fields are private. */
struct bpf_channel {
	void *consumer; /* a page of the kernel's ring buffer: how far it was read */
	void *producer; /* the page behind it: how far it was written; then the data */
	const uint8_t *data;
	size_t bytes, page, mapped; /* mapped: from producer on */
};

/* fd: of the map, the caller's, also needed no longer; bytes: its size, a power of two. 0 or
 * -errno. */
int bpf_channel_open(struct bpf_channel *c, int fd, size_t bytes);
void bpf_channel_close(struct bpf_channel *c);
/*
 * Passes the complete records, up to the first that is being written and no more than there are
 * now, to receive(), which must not keep them and returns < 0 to stop behind a record. A record is
 * written in less than a microsecond, unless a host takes the CPU away on which that happens; wait:
 * for 100 ms at most. 0; -EAGAIN: the next one is being written; or what receive() returned.
 */
int bpf_channel_read(struct bpf_channel *c, bool wait,
		     int (*receive)(void *ctx, const void *record, size_t bytes), void *ctx);

#endif
