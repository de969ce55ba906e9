/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A forged ring file: sparse, of 4,096 domains, each of which claims to be full and holds one sound
 * record. It looks like 256 MB and takes 17 MB of a disk.
 */
#ifndef ATTACK_FORGE_RING_H
#define ATTACK_FORGE_RING_H

#include <ebtrace/ring.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FORGED_WORDS   8192ull
#define FORGED_DOMAINS EBT_RING_MAX_DOMAINS

static void forge_put(int fd, const void *bytes, size_t n, uint64_t offset)
{
	if (pwrite(fd, bytes, n, (off_t)offset) != (ssize_t)n) {
		perror("forged ring");
		exit(1);
	}
}

/* Returns its open descriptor; ends the program when it cannot be made. */
static int forge_ring(const char *path)
{
	static struct ebt_ring_header table[FORGED_DOMAINS];
	struct ebt_ring_file h = {
		.version = EBT_RING_VERSION,
		.max_domains = FORGED_DOMAINS,
		.ring_header_size = sizeof(struct ebt_ring_header),
		.ring_size_bytes = 8 * FORGED_WORDS,
		.ring_size_elements = FORGED_WORDS,
		.headers_offset = EBT_RING_HEADERS_OFFSET,
		.data_offset = EBT_RING_HEADERS_OFFSET + sizeof(table),
	};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	h.custom_events_offset = h.data_offset + h.ring_size_bytes * FORGED_DOMAINS;
	const uint64_t record[] = {ebt_ring_event_header(3, 0, EBT_RING_COUNTER, 0, 0), 1, 1};
	for (unsigned d = 0; d < FORGED_DOMAINS; d++) {
		table[d].tail = FORGED_WORDS;
		forge_put(fd, record, sizeof(record), h.data_offset + h.ring_size_bytes * d);
	}
	forge_put(fd, table, sizeof(table), h.headers_offset);
	forge_put(fd, "", 1, h.custom_events_offset + EBT_RING_NAMES_BYTES - 1);
	forge_put(fd, &h, sizeof(h), 0);
	return fd;
}

#endif
