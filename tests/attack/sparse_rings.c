/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to exhaust a reader's memory with ring files that cost their maker next to nothing: sparse,
 * of 4,096 domains, each of which claims to be full.
 *
 *   sparse_rings DIR N    writes DIR/1.events to DIR/N.events, of 256 MB each, 17 MB of it on disk
 */
#include <ebtrace/ring.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RING_WORDS 8192ull
#define DOMAINS	   EBT_RING_MAX_DOMAINS

static struct ebt_ring_header table[DOMAINS];

static void put(int fd, const void *bytes, size_t n, uint64_t offset)
{
	if (pwrite(fd, bytes, n, (off_t)offset) != (ssize_t)n) {
		perror("sparse_rings");
		exit(1);
	}
}

static void forge(int fd)
{
	struct ebt_ring_file h = {
		.version = EBT_RING_VERSION,
		.max_domains = DOMAINS,
		.ring_header_size = sizeof(struct ebt_ring_header),
		.ring_size_bytes = 8 * RING_WORDS,
		.ring_size_elements = RING_WORDS,
		.headers_offset = EBT_RING_HEADERS_OFFSET,
		.data_offset = EBT_RING_HEADERS_OFFSET + sizeof(table),
	};
	h.custom_events_offset = h.data_offset + h.ring_size_bytes * DOMAINS;
	/* One sound record a ring: not damage alone. */
	const uint64_t record[] = {ebt_ring_event_header(3, 0, EBT_RING_COUNTER, 0, 0), 1, 1};
	for (unsigned d = 0; d < DOMAINS; d++) {
		table[d].tail = RING_WORDS;
		put(fd, record, sizeof(record), h.data_offset + h.ring_size_bytes * d);
	}
	put(fd, table, sizeof(table), h.headers_offset);
	put(fd, "", 1, h.custom_events_offset + EBT_RING_NAMES_BYTES - 1);
	put(fd, &h, sizeof(h), 0);
}

int main(int argc, char **argv)
{
	for (int i = 1; argc == 3 && i <= atoi(argv[2]); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%d.events", argv[1], i);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0) {
			perror(path);
			return 1;
		}
		forge(fd);
		close(fd);
	}
	return argc != 3;
}
