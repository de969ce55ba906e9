/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring files made word by word, for what no producer can be made to do on demand: a layout of any
 * number of rings, one record after the other, and the header of a ring as the test wants it.
 */
#ifndef TESTS_RING_FORGED_H
#define TESTS_RING_FORGED_H

#include <ebtrace/ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORGED_WORDS 512ull

static struct ebt_ring_file forged_layout(uint32_t domains)
{
	struct ebt_ring_file h = {
		.version = EBT_RING_VERSION,
		.max_domains = domains,
		.ring_header_size = sizeof(struct ebt_ring_header),
		.ring_size_bytes = 8 * FORGED_WORDS,
		.ring_size_elements = FORGED_WORDS,
		.headers_offset = EBT_RING_HEADERS_OFFSET,
		.data_offset = EBT_RING_HEADERS_OFFSET + domains * sizeof(struct ebt_ring_header),
	};
	h.custom_events_offset = h.data_offset + h.ring_size_bytes * domains;
	return h;
}

static void forged_put(int fd, const void *bytes, size_t n, uint64_t offset)
{
	if (pwrite(fd, bytes, n, (off_t)offset) != (ssize_t)n)
		abort();
}

/* The file's header and its whole length; ext: as our own library makes it, with ordinals. */
__attribute__((unused)) static void forged_file(int fd, const struct ebt_ring_file *h, bool ext)
{
	struct ebt_ring_ext e = {.magic = EBT_RING_EXT_MAGIC,
				 .size = sizeof(e),
				 .byte_order = 0x0102030405060708,
				 .word_bytes = 8,
				 .clock = EBT_RING_CLOCK_MONOTONIC,
				 .pid = 7};
	uint64_t end = h->custom_events_offset + EBT_RING_NAMES_BYTES;
	forged_put(fd, h, sizeof(*h), 0);
	forged_put(fd, "", 1, end - 1);
	if (ext)
		forged_put(fd, &e, sizeof(e), end);
}

/* The file has an extension block. */
__attribute__((unused)) static void forged_first_domain(int fd, const struct ebt_ring_file *h,
							uint64_t domain)
{
	forged_put(fd, &domain, sizeof(domain),
		   h->custom_events_offset + EBT_RING_NAMES_BYTES +
			   offsetof(struct ebt_ring_ext, first_domain));
}

static void forged_header(int fd, const struct ebt_ring_file *h, uint32_t domain,
			  const struct ebt_ring_header *r)
{
	forged_put(fd, r, sizeof(*r), h->headers_offset + domain * sizeof(*r));
}

/* Words at a position of a ring. */
static void forged_words(int fd, const struct ebt_ring_file *h, uint32_t domain, uint64_t pos,
			 const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		forged_put(fd, &words[i], 8,
			   h->data_offset + h->ring_size_bytes * domain +
				   8 * ((pos + i) % FORGED_WORDS));
}

/* A record of a counter: three words. */
static void forged_counter(int fd, const struct ebt_ring_file *h, uint32_t domain, uint64_t pos,
			   uint64_t ts, uint32_t seq)
{
	const uint64_t words[] = {ebt_ring_event_header(3, 0, EBT_RING_COUNTER, 0, seq), ts, pos};
	forged_words(fd, h, domain, pos, words, 3);
}

/* A ring of one record; the file as OCaml makes it. */
__attribute__((unused)) static void forged_ring(int fd, const struct ebt_ring_file *h,
						uint32_t domain, uint64_t ts)
{
	const struct ebt_ring_header r = {.tail = 3};
	forged_file(fd, h, false);
	forged_counter(fd, h, domain, 0, ts, 0);
	forged_header(fd, h, domain, &r);
}

#endif
