/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/pagetrace/index.h"

#include "base/array.h"
#include "codec/pagetrace/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (256u << 10)
#define NO_LANE	     UINT32_MAX
/* Lanes of one P that a block is tried in: as many as processes write to one file, and then some. */
#define LANES_TRIED 8

/* The block that the walk is in: it joins a lane at its end, when its last time is known. */
struct scan {
	struct pagetrace_index *index;
	struct pagetrace_walk walk;
	bool in_block;
	int32_t p;
	uint64_t block_at, begin_ns, first_ns, last_ns, events;
};

static int new_lane(struct pagetrace_index *x, int32_t p, uint32_t *ret)
{
	uint32_t lanes = x->lanes_cap, chains = x->lanes_cap;
	if (x->lanes == EBT_PAGETRACE_LANES_MAX) {
		snprintf(x->reason, sizeof(x->reason), "expected no more than %d lanes",
			 EBT_PAGETRACE_LANES_MAX);
		return -EBADMSG;
	}
	if (!array_reserve(x->lane, lanes, x->lanes) || !array_reserve(x->chain, chains, x->lanes))
		return -ENOMEM;
	x->lanes_cap = lanes;
	x->lane[x->lanes] = (struct ebt_pagetrace_lane){.p = p};
	x->chain[x->lanes] = (struct pagetrace_chain){.first = PAGETRACE_NO_BLOCK};
	*ret = x->lanes++;
	return 0;
}

static int has_newest(struct pagetrace_index *x, int32_t p)
{
	return array_room(x->newest, x->newest_count, (uint32_t)(p + 1)) ? 0 : -ENOMEM;
}

/* Of the lanes of a P that were used last, the one that ends last before begin_ns: its process wrote
 * the block. *ret_newer is the lane that leads to it. */
static uint32_t best_lane(const struct pagetrace_index *x, uint32_t newest, uint64_t begin_ns,
			  uint32_t *ret_newer)
{
	uint32_t best = NO_LANE, newer = NO_LANE;
	for (int tried = 0; newest != NO_LANE && tried < LANES_TRIED; tried++) {
		const struct pagetrace_chain *c = &x->chain[newest];
		if (c->end_ns <= begin_ns &&
		    (best == NO_LANE || c->end_ns > x->chain[best].end_ns)) {
			best = newest;
			*ret_newer = newer;
		}
		newer = newest;
		newest = c->older;
	}
	return best;
}

/* The lane for a block of p that begins at begin_ns, which becomes the one used last. */
static int find_lane(struct pagetrace_index *x, int32_t p, uint64_t begin_ns, uint32_t *ret)
{
	int err = has_newest(x, p);
	if (err)
		return err;
	uint32_t newest = x->newest[p + 1] - 1, newer = NO_LANE;
	uint32_t lane = best_lane(x, newest, begin_ns, &newer);
	if (lane == NO_LANE) {
		err = new_lane(x, p, &lane);
		if (err)
			return err;
	} else if (newer != NO_LANE) {
		x->chain[newer].older = x->chain[lane].older;
	}
	if (lane != newest)
		x->chain[lane].older = newest;
	x->newest[p + 1] = lane + 1;
	*ret = lane;
	return 0;
}

static int add_block(struct pagetrace_index *x, uint64_t offset, uint32_t lane)
{
	struct pagetrace_chain *c = &x->chain[lane];
	if (x->blocks == PAGETRACE_NO_BLOCK - 1)
		return -EFBIG;
	if (!array_reserve(x->block, x->blocks_cap, x->blocks))
		return -ENOMEM;
	uint32_t block = x->blocks++;
	x->block[block] = (struct pagetrace_block){offset, PAGETRACE_NO_BLOCK};
	if (c->first == PAGETRACE_NO_BLOCK)
		c->first = block;
	else
		x->block[c->last].next = block;
	c->last = block;
	return 0;
}

static int end_block(struct scan *s)
{
	struct pagetrace_index *x = s->index;
	uint32_t lane = 0;
	if (!s->in_block)
		return 0;
	int err = find_lane(x, s->p, s->begin_ns, &lane);
	err = err ? err : add_block(x, s->block_at, lane);
	if (err)
		return err;
	struct ebt_pagetrace_lane *l = &x->lane[lane];
	struct pagetrace_chain *c = &x->chain[lane];
	if (!l->blocks++)
		c->begin_ns = s->begin_ns;
	if (s->events) {
		l->first_ns = l->events ? l->first_ns : s->first_ns;
		l->last_ns = s->last_ns;
	}
	l->events += s->events;
	c->end_ns = s->last_ns;
	return 0;
}

static int next_block(struct scan *s)
{
	int err = end_block(s);
	s->in_block = true;
	s->p = s->walk.p;
	s->block_at = s->walk.offset - EBT_PAGETRACE_HEAD_BYTES;
	s->begin_ns = s->last_ns = s->walk.base_ns;
	s->events = 0;
	return err;
}

static void count_events(struct scan *s)
{
	if (!s->events && pagetrace_walk_events(&s->walk, NULL, 1)) {
		s->first_ns = s->walk.last_ns;
		s->events = 1;
	}
	s->events += pagetrace_walk_events(&s->walk, NULL, SIZE_MAX);
	s->last_ns = s->walk.last_ns;
}

static void set_reason(struct pagetrace_index *x, uint64_t offset, const char *expected)
{
	if (!*x->reason)
		snprintf(x->reason, sizeof(x->reason), "at byte %llu: expected %s",
			 (unsigned long long)offset, expected);
}

/* Scans the words that the walk has. */
static int scan_words(struct scan *s)
{
	struct ebt_pagetrace_event damage;
	for (;;) {
		if (!s->walk.damage_bytes)
			count_events(s);
		enum pagetrace_next next = pagetrace_walk_next(&s->walk, &damage);
		int err = next == PAGETRACE_NEXT_BLOCK ? next_block(s) : 0;
		if (next == PAGETRACE_NEXT_DAMAGE)
			set_reason(s->index, damage.addr, s->walk.expected);
		if (next == PAGETRACE_NEXT_END)
			return end_block(s);
		if (err || next == PAGETRACE_NEXT_MORE)
			return err;
	}
}

static int scan_trace(struct scan *s, char *buffer, ebt_pagetrace_pread *pread, void *ctx)
{
	struct pagetrace_walk *k = &s->walk;
	uint64_t *bytes = &s->index->bytes;
	int err = 0;
	while (!err && !k->whole) {
		size_t kept = k->words * 8;
		memmove(buffer, k->word, kept);
		k->word = (const uint64_t *)buffer;
		size_t room = BUFFER_BYTES - kept;
		ssize_t n = pread(ctx, buffer + kept, room, *bytes);
		if (n < 0 || (size_t)n > room)
			return n < 0 ? (int)n : -EIO;
		if (!*bytes && n && !ebt_pagetrace_is(buffer, (size_t)n)) {
			set_reason(s->index, 0, "a block: a P and a time");
			return -EBADMSG;
		}
		*bytes += (uint64_t)n;
		k->words = (kept + (size_t)n) / 8;
		k->whole = (size_t)n < room;
		k->tail_bytes = k->whole ? (uint64_t)n % 8 : 0;
		err = scan_words(s);
	}
	return err;
}

int pagetrace_index_init(struct pagetrace_index *x, ebt_pagetrace_pread *pread, void *ctx)
{
	*x = (struct pagetrace_index){0};
	char *buffer = malloc(BUFFER_BYTES);
	if (!buffer)
		return -ENOMEM;
	struct scan s = {.index = x, .walk = {.word = (const uint64_t *)buffer}};
	s.walk.counts = &x->counts;
	int err = scan_trace(&s, buffer, pread, ctx);
	free(buffer);
	return err;
}

void pagetrace_index_done(struct pagetrace_index *x)
{
	free(x->block);
	free(x->lane);
	free(x->chain);
	free(x->newest);
}
