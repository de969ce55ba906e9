/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the packets of each domain are in the file of a memtrace trace, for a reader of one domain:
 * without it each reads the head of every packet, and a file of many domains has many readers.
 * Offsets where no packet begins are every domain's, as a packet of any may have been there. The
 * index is made from the heads alone: readers still check the packets that they read.
 */
#ifndef SOURCE_FILE_MEMTRACE_INDEX_H
#define SOURCE_FILE_MEMTRACE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define MEMTRACE_INDEX_MAX (1u << 22) /* packets, of 32 MB */

struct memtrace_index;

/* A reader's position in it. Initialised by zeroes. */
struct memtrace_index_at {
	uint32_t packet, damage;
};

/* The bytes from `begin` on are of the domain, until `end`, or are no packet (end is
 * UINT64_MAX). */
struct memtrace_extent {
	uint64_t begin, end;
};

/* 0, -ENOMEM or -errno. *ret is NULL if there are more packets than MEMTRACE_INDEX_MAX. */
int memtrace_index_new(int fd, struct memtrace_index **ret);
void memtrace_index_free(struct memtrace_index *x); /* NULL is allowed */
/* The first extent of a domain that ends behind `offset`, which must not descend. False: there is
 * none. */
bool memtrace_index_next(const struct memtrace_index *x, struct memtrace_index_at *at,
			 uint16_t domain, uint64_t offset, struct memtrace_extent *ret);

#endif
