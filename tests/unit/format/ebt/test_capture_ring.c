/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a trigger's blocks over a long run: what is dropped is given back, to the byte. */
#include "format/ebt/capture_ring.h"

#include <malloc.h>

#include "tests/random.h"
#include "tests/tap.h"

#define BLOCKS 20000
#define LIMIT  (64u << 10)

static uint64_t random_state = 3;
static uint32_t draw(uint32_t below)
{
	return (uint32_t)(random_next(&random_state) >> 32) % below;
}

static size_t bytes_of(const struct capture_ring *r)
{
	size_t bytes = 0;
	for (uint32_t i = 0; i < r->count; i++)
		bytes += r->at[r->first + i].bytes +
			 r->at[r->first + i].opens * sizeof(struct ebt_event);
	return bytes;
}

static void begin_block(struct capture_ring *r, uint64_t ns)
{
	struct totals before = {.events = ns};
	uint32_t opens = draw(5);
	struct ebt_event *open = calloc(opens + 1, sizeof(*open));
	if (!open || capture_ring_begin(r, ns, &before, open, opens))
		abort();
}

static void fill_block(struct capture_ring *r)
{
	static char content[4096];
	if (capture_ring_fill(r, content, 1 + draw(sizeof(content))))
		abort();
}

/* Each block gets its bytes once the next one has begun. */
static void test_long(void)
{
	struct capture_ring r = {.limit = LIMIT};
	unsigned uneven = 0, above = 0, early = 0, wrong = 0;
	size_t used = 0, grown = 0;
	uint32_t most = 0;
	begin_block(&r, 0);
	for (uint64_t ns = 1; ns < BLOCKS; ns++) {
		uint64_t from_ns = ns > 10 ? ns - 10 : 0;
		begin_block(&r, ns);
		fill_block(&r);
		uint32_t count = r.count;
		capture_ring_trim(&r, from_ns);
		uneven += r.bytes != bytes_of(&r) || r.count != r.filled + 1;
		above += r.bytes > LIMIT && r.filled;
		/* Neither too old nor, unless bytes demanded it, younger than needed. */
		wrong += r.filled && r.at[r.first + 1].first_ns < from_ns;
		early += r.count < count && r.at[r.first].first_ns > from_ns &&
			 r.bytes + 4096 + 5 * sizeof(struct ebt_event) <= LIMIT;
		most = r.cap > most ? r.cap : most;
		size_t now = mallinfo2().uordblks;
		used = ns == BLOCKS / 10 ? now : used;
		grown = used && now > used + grown ? now - used : grown;
	}
	is(uneven, 0, "over 20,000 blocks the ring counts the bytes of the blocks that it has");
	is(above, 0, "which are never more than its limit");
	ok(!wrong && !early, "blocks stay as long as they are needed, and no longer");
	ok(most <= 128, "its table does not grow with the blocks that have passed");
#ifndef __SANITIZE_ADDRESS__
	ok(grown < 2 * LIMIT, "nor does memory");
#endif
	diag("%u entries, %zu bytes more", most, grown);
	capture_ring_trim(&r, UINT64_MAX);
	ok(r.count == 1 && !r.filled && r.bytes == bytes_of(&r), "the open block is kept");
	capture_ring_done(&r);
}

static void test_limit(void)
{
	static const char block[100];
	struct totals before = {0};
	for (size_t limit = 200; limit >= 199; limit--) {
		struct capture_ring r = {.limit = limit};
		for (unsigned i = 0; i < 3; i++)
			if (capture_ring_begin(&r, i, &before, NULL, 0) ||
			    (i < 2 && capture_ring_fill(&r, block, sizeof(block))))
				abort();
		capture_ring_trim(&r, 0);
		is(r.filled, limit / 100,
		   limit == 200 ? "blocks of as many bytes as the limit stay"
				: "with one byte less the oldest goes");
		is(r.at[r.first].first_ns, limit == 199, "and the newer one stays");
		capture_ring_done(&r);
	}
}

/* A block that is larger than the limit by itself. */
static void test_last(void)
{
	static const char block[300];
	struct totals before = {0};
	struct capture_ring r = {.limit = 200};
	if (capture_ring_begin(&r, 1, &before, NULL, 0) ||
	    capture_ring_fill(&r, block, sizeof(block)))
		abort();
	capture_ring_trim(&r, UINT64_MAX);
	ok(r.count == 1 && r.filled == 1 && r.bytes == sizeof(block),
	   "the newest block stays, whatever the limit and however old");
	if (capture_ring_begin(&r, 2, &before, NULL, 0))
		abort();
	capture_ring_trim(&r, 0);
	ok(r.count == 1 && !r.filled && !r.bytes, "until the next one begins");
	capture_ring_done(&r);
}

int main(void)
{
	test_long();
	test_limit();
	test_last();
	return tap_done();
}
