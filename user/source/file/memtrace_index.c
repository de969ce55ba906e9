/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/memtrace_index.h"

#include "base/array.h"
#include "source/file/memtrace_domains.h"
#include <errno.h>
#include <stdlib.h>

#define DOMAINS	    65536
#define LENGTH_BITS 16
/* Most offsets without a packet that are kept: behind the last one readers read everything. */
#define DAMAGES_MAX (1u << 16)

struct memtrace_index {
	uint64_t *packet; /* offset << LENGTH_BITS | bytes; by domain, then by offset */
	uint32_t packets;
	uint64_t *damage; /* offsets */
	uint32_t damages;
	uint32_t first[DOMAINS + 1]; /* index in `packet` of each domain's first */
};

/* The packets in the order of the file. */
struct making {
	struct memtrace_index *index;
	uint64_t *packet;
	uint16_t *domain;
	uint32_t cap;
};

static int grow(struct making *m)
{
	uint32_t packets = m->cap, domains = m->cap;
	if (!array_reserve(m->packet, packets, m->cap) ||
	    !array_reserve(m->domain, domains, m->cap))
		return -ENOMEM;
	m->cap = packets;
	return 0;
}

static int add(void *ctx, uint64_t offset, const struct memtrace_head *h)
{
	struct making *m = ctx;
	struct memtrace_index *x = m->index;
	if (!h) {
		if (x->damages < DAMAGES_MAX)
			x->damage[x->damages++] = offset;
		return 0;
	}
	if (x->packets == MEMTRACE_INDEX_MAX || offset >> (64 - LENGTH_BITS))
		return -E2BIG;
	if (x->packets == m->cap && grow(m))
		return -ENOMEM;
	m->packet[x->packets] = offset << LENGTH_BITS | h->bytes;
	m->domain[x->packets++] = h->domain;
	x->first[h->domain + 1]++;
	return 0;
}

/* By domain, in the same order. */
static int sort(struct making *m)
{
	struct memtrace_index *x = m->index;
	uint32_t *next = calloc(DOMAINS, sizeof(*next));
	x->packet = calloc(x->packets + 1u, sizeof(*x->packet));
	if (!next || !x->packet) {
		free(next);
		return -ENOMEM;
	}
	for (uint32_t d = 0; d < DOMAINS; d++) {
		next[d] = x->first[d];
		x->first[d + 1] += x->first[d];
	}
	for (uint32_t i = 0; i < x->packets; i++)
		x->packet[next[m->domain[i]]++] = m->packet[i];
	free(next);
	return 0;
}

int memtrace_index_new(int fd, struct memtrace_index **ret)
{
	struct making m = {.index = calloc(1, sizeof(*m.index))};
	int err = -ENOMEM;
	if (!m.index)
		return err;
	m.index->damage = calloc(DAMAGES_MAX, sizeof(*m.index->damage));
	if (m.index->damage)
		err = memtrace_packets_each(fd, add, &m);
	if (!err)
		err = sort(&m);
	free(m.packet);
	free(m.domain);
	if (err) {
		memtrace_index_free(m.index);
		m.index = NULL;
	}
	if (!err || err == -E2BIG)
		*ret = m.index;
	return err == -E2BIG ? 0 : err;
}

void memtrace_index_free(struct memtrace_index *x)
{
	if (!x)
		return;
	free(x->packet);
	free(x->damage);
	free(x);
}

bool memtrace_index_next(const struct memtrace_index *x, struct memtrace_index_at *at,
			 uint16_t domain, uint64_t offset, struct memtrace_extent *ret)
{
	const uint64_t *packet = x->packet + x->first[domain];
	uint32_t packets = x->first[domain + 1] - x->first[domain];
	struct memtrace_extent e = {UINT64_MAX, UINT64_MAX};
	for (; at->packet < packets; at->packet++) {
		uint64_t begin = packet[at->packet] >> LENGTH_BITS;
		e.begin = begin;
		e.end = begin + (packet[at->packet] & ((1u << LENGTH_BITS) - 1));
		if (e.end > offset)
			break;
		e = (struct memtrace_extent){UINT64_MAX, UINT64_MAX};
	}
	if (x->damages == DAMAGES_MAX && offset > x->damage[DAMAGES_MAX - 1]) {
		*ret = (struct memtrace_extent){offset, UINT64_MAX};
		return true;
	}
	while (at->damage < x->damages && x->damage[at->damage] < offset)
		at->damage++;
	if (at->damage < x->damages && x->damage[at->damage] < e.begin)
		e = (struct memtrace_extent){x->damage[at->damage], UINT64_MAX};
	*ret = e;
	return e.begin != UINT64_MAX;
}
