/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf/channel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/abi.h"

/* The longest record, and its head in the buffer; whole pages of any size. */
#define LONGEST_BYTES (64u << 10)
_Static_assert(LONGEST_BYTES >=
		       BPF_RINGBUF_HDR_SZ + sizeof(struct ebt_marker_record) + EBT_ROOM_LARGE,
	       "a record must fit behind the end");

/* The part of the buffer that is read before the kernel may use it again: each time its next
 * reservation misses the cache. */
#define GIVEN_BACK 64

#define WAIT_MS 100

int bpf_channel_open(struct bpf_channel *c, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t behind = bytes < LONGEST_BYTES ? bytes : LONGEST_BYTES;
	size_t mapped = page + bytes + behind;
	void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	void *producer = mmap(NULL, mapped, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (producer == MAP_FAILED) {
		int err = -errno;
		munmap(consumer, page);
		return err;
	}
	*c = (struct bpf_channel){.consumer = consumer,
				  .producer = producer,
				  .data = (const uint8_t *)producer + page,
				  .bytes = bytes,
				  .page = page,
				  .mapped = mapped};
	return 0;
}

void bpf_channel_close(struct bpf_channel *c)
{
	if (c->consumer) {
		munmap(c->consumer, c->page);
		munmap(c->producer, c->mapped);
	}
	*c = (struct bpf_channel){0};
}

/* The head of a record has BUSY while the kernel writes it: microseconds, unless that CPU is taken
 * away. Few records wake a descriptor. Called after the event loop, at most `tries` times 1 ms. */
static uint32_t wait_for(const uint8_t *head, unsigned *tries)
{
	for (;;) {
		/* Acquire: pairs with the kernel's exchange that clears BUSY behind the record's
		 * bytes. */
		uint32_t len =
			atomic_load_explicit((const _Atomic uint32_t *)head, memory_order_acquire);
		if (!(len & BPF_RINGBUF_BUSY_BIT) || !*tries)
			return len;
		usleep(1000);
		--*tries;
	}
}

int bpf_channel_read(struct bpf_channel *c, bool wait,
		     int (*receive)(void *ctx, const void *record, size_t bytes), void *ctx)
{
	_Atomic unsigned long *consumer = c->consumer;
	const _Atomic unsigned long *producer = c->producer;
	unsigned long at = atomic_load_explicit(consumer, memory_order_relaxed), given = at;
	/* Acquire: pairs with the kernel's release behind the head of a reserved record, so that
	 * its BUSY bit is seen. */
	unsigned long end = atomic_load_explicit(producer, memory_order_acquire);
	unsigned tries = wait ? WAIT_MS : 0;
	int err = 0;
	while (at < end && err >= 0) {
		const uint8_t *head = c->data + (at & (c->bytes - 1));
		uint32_t len = wait_for(head, &tries);
		if (len & BPF_RINGBUF_BUSY_BIT) {
			err = -EAGAIN;
			break;
		}
		size_t bytes = len & ~BPF_RINGBUF_DISCARD_BIT;
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			err = receive(ctx, head + BPF_RINGBUF_HDR_SZ, bytes);
		at += (BPF_RINGBUF_HDR_SZ + bytes + 7) & ~7ul;
		if (at - given < c->bytes / GIVEN_BACK)
			continue;
		/* Release: the record was read before the kernel writes over it. */
		atomic_store_explicit(consumer, at, memory_order_release);
		given = at;
	}
	atomic_store_explicit(consumer, at, memory_order_release);
	return err < 0 ? err : 0;
}
