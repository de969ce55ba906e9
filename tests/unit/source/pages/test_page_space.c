// SPDX-License-Identifier: BSD-2-Clause
/* What is kept of an address space while it is checked: ranges that were touched, and system calls
 * that may be removing pages. */
#include "source/pages/space.h"

#include <stdlib.h>

#include "tests/tap.h"

#define MOST 65536 /* ranges */

static void done(struct page_space *s)
{
	free(s->touched);
	free(s->call);
	*s = (struct page_space){0};
}

static void touch(struct page_space *s, uint64_t first, uint64_t pages)
{
	if (page_space_touch(s, first, pages))
		abort();
}

static void test_touched(void)
{
	struct page_space s = {0};
	touch(&s, 10, 5);
	touch(&s, 15, 1);
	ok(s.touches == 1 && s.touched->first == 10 && s.touched->pages == 6,
	   "ranges that follow one another are one");
	touch(&s, 17, 1);
	touch(&s, 16, 1);
	is(s.touches, 3, "others are not");
	while (s.touches < MOST)
		touch(&s, 100 + 2 * s.touches, 1);
	ok(!s.overrun, "as many as there is room for are kept");
	touch(&s, s.touched[MOST - 1].first + 1, 1);
	ok(!s.overrun && s.touches == MOST, "the last one may still grow");
	touch(&s, 1, 1);
	ok(s.overrun && s.touches == MOST, "one more is too much");
	touch(&s, 5, 1);
	ok(s.overrun && s.touches == MOST, "for good");
	done(&s);
}

static void enter(struct page_space *s, uint32_t tid, uint32_t dropped, uint64_t first)
{
	struct ebt_page_record rec = {.head = {.tid = tid}, .dropped = dropped};
	if (page_space_enter(s, &rec, first, 1))
		abort();
}

static void test_calls(void)
{
	struct page_space s = {.held = true, .check_ns = 100};
	enter(&s, 1, 0, 10);
	enter(&s, 2, 0, 20);
	enter(&s, 1, 0, 30);
	is(s.calls, 2, "a thread is in one call at a time");
	if (page_space_leave(&s, 1, 100) || page_space_leave(&s, 2, 99) ||
	    page_space_leave(&s, 3, 200))
		abort();
	ok(!s.calls && s.touches == 1 && s.touched->first == 30,
	   "what a call that ends in the check has removed was touched");
	done(&s);

	unsigned wrong = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		enter(&s, i, 0, i);
		wrong += page_space_leave(&s, i, 1) || s.calls;
	}
	ok(!wrong && s.calls_room < 64, "100,000 calls, one after the other, need room for one");
	done(&s);
}

/* The end of a call is missing if records were dropped since it began: counts that wrap. */
static void test_dropped(void)
{
	static const struct {
		uint32_t before, now;
		bool is_there;
	} rows[] = {{0, 0, true},
		    {0, 1, false},
		    {5, 5, true},
		    {UINT32_MAX, UINT32_MAX, true},
		    {UINT32_MAX, 0, false},
		    {UINT32_MAX - 15, 5, false},
		    {5, UINT32_MAX - 15, true}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct page_space s = {0};
		enter(&s, 1, rows[i].before, 10);
		if (page_space_touch_calls(&s, rows[i].now))
			abort();
		ok(s.calls == rows[i].is_there && s.touches == rows[i].is_there,
		   "a call that began when %u records were dropped, of %u, %s", rows[i].before,
		   rows[i].now, rows[i].is_there ? "may still remove pages" : "may have ended");
		done(&s);
	}
}

static struct ebt_event emitted;
static unsigned emits;

static int keep(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	emitted = *ev;
	emits++;
	return 0;
}

/* An event of a run of pages at this time, of an output that ends at until_ns. */
static bool emits_at(uint64_t ts, uint64_t until_ns)
{
	struct page_space s = {0};
	struct page_output out = {
		.page_bytes = 4096, .flags = EBT_F_LATE, .until_ns = until_ns, .emit = keep};
	struct page_event of = {.out = &out,
				.space = &s,
				.kind = EBT_PAGE_ALLOC,
				.cause = EBT_PAGE_SNAPSHOT,
				.process = 3,
				.tid = 5,
				.cpu = 7,
				.within_us = 9};
	unsigned before = emits;
	page_event_at(&of, ts);
	if (page_event_emit(&of, 11, 13))
		abort();
	return emits == before + 1;
}

static void test_events(void)
{
	ok(emits_at(1000, 0), "without an end each event is emitted");
	ok(emitted.ts == 1000 && emitted.kind == EBT_PAGE_ALLOC && emitted.process == 3 &&
		   emitted.tid == 5 && emitted.cpu == 7 && emitted.id == EBT_PAGE_SNAPSHOT &&
		   emitted.flags == EBT_F_LATE && emitted.arg[0] == 11 * 4096 &&
		   emitted.arg[1] == 13 && emitted.pos == EBT_NO_POS &&
		   emitted.domain == EBT_NO_DOMAIN,
	   "with its time, process, thread, CPU, cause, address and pages");
	ok(emits_at(999, 1000) && emits_at(1000, 1000), "up to an end, and at it");
	ok(!emits_at(1001, 1000), "but not behind it");
}

int main(void)
{
	test_touched();
	test_calls();
	test_dropped();
	test_events();
	return tap_done();
}
