/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of a memtrace trace of any bytes, followed for each domain at offsets that the bytes
 * choose, and compared with the packets in the order of the file. Shared by the fuzz target and the
 * tests.
 */
#ifndef FUZZ_MEMTRACE_INDEX_BODY_H
#define FUZZ_MEMTRACE_INDEX_BODY_H

#include "source/file/memtrace_domains.h"
#include "source/file/memtrace_index.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMTRACE_INDEX_BODY_MAX	    4096 /* packets and damages */
#define MEMTRACE_INDEX_BODY_DOMAINS 128

/* As memtrace_packets_each() found it. */
struct memtrace_index_place {
	struct memtrace_extent extent;
	uint16_t domain;
	bool is_damage;
};

struct memtrace_index_body {
	struct memtrace_index_place place[MEMTRACE_INDEX_BODY_MAX];
	size_t places, damages, domains, extents;
	const uint8_t *choice;
	size_t choices;
};

static int memtrace_index_note(void *ctx, uint64_t offset, const struct memtrace_head *h)
{
	struct memtrace_index_body *b = ctx;
	if (b->places == MEMTRACE_INDEX_BODY_MAX)
		return -1;
	b->damages += !h;
	b->place[b->places++] = (struct memtrace_index_place){
		.extent = {offset, h ? offset + h->bytes : UINT64_MAX},
		.domain = h ? h->domain : 0,
		.is_damage = !h,
	};
	return 0;
}

static void memtrace_index_follow(struct memtrace_index_body *b, const struct memtrace_index *x,
				  uint16_t domain)
{
	struct memtrace_index_at at = {0};
	struct memtrace_extent e;
	uint64_t offset = 0;
	for (size_t i = 0;;) {
		while (i < b->places &&
		       (b->place[i].is_damage
				? b->place[i].extent.begin < offset
				: b->place[i].domain != domain || b->place[i].extent.end <= offset))
			i++;
		bool more = memtrace_index_next(x, &at, domain, offset, &e);
		if (more != (i < b->places) || (more && (e.begin != b->place[i].extent.begin ||
							 e.end != b->place[i].extent.end)))
			abort();
		if (!more)
			return;
		b->extents++;
		uint64_t within = b->choice[offset % b->choices];
		uint64_t end = e.end == UINT64_MAX ? e.begin + 1 : e.end;
		offset = within & 1 && e.begin + within / 2 > offset && e.begin + within / 2 < end
				 ? e.begin + within / 2
				 : end;
	}
}

/* The caller frees it. */
__attribute__((unused)) static struct memtrace_index_body *memtrace_index_body(const uint8_t *data,
									       size_t size)
{
	struct memtrace_index_body *b = calloc(1, sizeof(*b));
	struct memtrace_domains domains = {0};
	struct memtrace_index *x;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (!b || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	b->choice = data;
	b->choices = size;
	if (memtrace_index_new(fd, &x))
		abort();
	if (!memtrace_packets_each(fd, memtrace_index_note, b) &&
	    !memtrace_domains_read(fd, &domains))
		for (uint32_t i = 0; i < domains.count && i < MEMTRACE_INDEX_BODY_DOMAINS; i++)
			memtrace_index_follow(b, x, domains.domain[i]);
	b->domains = domains.count;
	free(domains.domain);
	memtrace_index_free(x);
	close(fd);
	return b;
}

#endif
