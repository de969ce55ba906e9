/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/round.h"

#include <errno.h>

#include "report/pages/model/model.h"

#define PAGE_BYTES ((uint64_t)EBT_PAGETRACE_PAGE_BYTES)
_Static_assert(PAGE_BYTES == 2 * PAGES_ROUND_BYTES, "a page has two halves");

/* What becomes of a page. */
enum step { STEP_NONE, STEP_ALLOC, STEP_FREE, STEP_SCAVENGE, STEP_FREE_SCAVENGE };

void pages_round_init(struct pages_round *r)
{
	*r = (struct pages_round){0};
	pages_heap_init(&r->heap, PAGES_ROUND_BYTES, PAGES_TRACKED_MAX);
}

void pages_round_done(struct pages_round *r)
{
	pages_heap_done(&r->heap);
}

static enum pages_state state_of(const enum pages_state half[2])
{
	static const enum pages_state order[] = {PAGES_ALLOCATED, PAGES_FREE, PAGES_SCAVENGED};
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (half[0] == order[i] || half[1] == order[i])
			return order[i];
	return PAGES_UNSEEN;
}

static enum step step_of(enum pages_state from, enum pages_state to)
{
	if (from == to)
		return STEP_NONE;
	if (to == PAGES_ALLOCATED)
		return STEP_ALLOC;
	if (to == PAGES_FREE)
		return STEP_FREE;
	return from == PAGES_ALLOCATED ? STEP_FREE_SCAVENGE : STEP_SCAVENGE;
}

/* Changes the halves of the page at `at` that are the event's. */
static enum step change(struct pages_round *r, const struct ebt_pagetrace_event *ev, uint64_t at)
{
	static const enum pages_state after[] = {
		[EBT_PAGETRACE_ALLOC] = PAGES_ALLOCATED,
		[EBT_PAGETRACE_FREE] = PAGES_FREE,
		[EBT_PAGETRACE_SCAVENGE] = PAGES_SCAVENGED,
	};
	struct pages_chunk *chunk = pages_heap_chunk(&r->heap, at);
	uint32_t first = pages_heap_index(&r->heap, at), one;
	enum pages_state half[2] = {pages_heap_piece(chunk, first, 1, &one),
				    pages_heap_piece(chunk, first + 1, 1, &one)};
	enum pages_state before = state_of(half);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t addr = at + i * (uint64_t)PAGES_ROUND_BYTES;
		if (addr < ev->addr || (addr - ev->addr) / PAGES_ROUND_BYTES >= ev->pages)
			continue;
		half[i] = after[ev->what];
		pages_heap_set(chunk, first + i, half[i]);
	}
	return step_of(before, state_of(half));
}

/* Successive pages that change alike. */
struct run {
	enum step step;
	struct ebt_pagetrace_event event;
	int (*fn)(void *ctx, const struct ebt_pagetrace_event *ev);
	void *ctx;
	bool any;
};

static int put(struct run *run, enum ebt_pagetrace_what what)
{
	run->event.what = what;
	run->any = true;
	return run->fn(run->ctx, &run->event);
}

static int end_run(struct run *run)
{
	int err = 0;
	if (run->step == STEP_ALLOC)
		err = put(run, EBT_PAGETRACE_ALLOC);
	if (run->step == STEP_FREE || run->step == STEP_FREE_SCAVENGE)
		err = put(run, EBT_PAGETRACE_FREE);
	if (!err && (run->step == STEP_SCAVENGE || run->step == STEP_FREE_SCAVENGE))
		err = put(run, EBT_PAGETRACE_SCAVENGE);
	run->event.pages = 0;
	return err;
}

/* As pages_heap_reserve(). */
static int reserve(struct pages_round *r, const struct ebt_pagetrace_event *ev)
{
	int err = pages_heap_reserve(&r->heap, ev->addr, ev->pages);
	uint64_t end = ev->addr + ev->pages * PAGES_ROUND_BYTES;
	uint64_t chunk_bytes = (uint64_t)1 << PAGES_CHUNK_SHIFT;
	for (uint64_t at = ev->addr & ~(chunk_bytes - 1); !err && at < end; at += chunk_bytes)
		err = pages_chunk_spread(pages_heap_chunk(&r->heap, at));
	return err;
}

int pages_round_event(struct pages_round *r, const struct ebt_pagetrace_event *ev,
		      int (*fn)(void *ctx, const struct ebt_pagetrace_event *ev), void *ctx)
{
	struct run run = {.event = *ev, .fn = fn, .ctx = ctx};
	bool can = ev->what >= EBT_PAGETRACE_ALLOC && ev->what <= EBT_PAGETRACE_SCAVENGE &&
		   ev->pages && !(ev->addr % PAGES_ROUND_BYTES);
	int err = can ? reserve(r, ev) : -ERANGE;
	r->events++;
	if (err == -ERANGE || err == -EFBIG) {
		r->beyond++;
		return 0;
	}
	uint64_t end = ev->addr + ev->pages * PAGES_ROUND_BYTES;
	run.event.pages = 0;
	for (uint64_t at = ev->addr & ~(PAGE_BYTES - 1); !err && at < end; at += PAGE_BYTES) {
		enum step step = change(r, ev, at);
		if (step != run.step) {
			err = end_run(&run);
			run.step = step;
			run.event.addr = at;
		}
		run.event.pages++;
	}
	if (!err)
		err = end_run(&run);
	r->widened += (ev->addr | end) % PAGE_BYTES != 0;
	r->without += !run.any;
	return err;
}
