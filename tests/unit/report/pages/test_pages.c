/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of pages by hand-made cases, and the sink that feeds it. */
#include "report/pages/model/alive.h"
#include "report/pages/model/fragmentation.h"
#include "report/pages/model/heat.h"
#include "report/pages/model/matrix.h"
#include "report/pages/model/occupancy.h"
#include "report/pages/model/pages.h"
#include "report/pages/pages.h"
#include "tests/tap.h"

#include <unistd.h>

#define PAGE  EBT_PAGETRACE_PAGE_BYTES
#define BASE  0xc000000000ull
#define CHUNK (4u << 20)

enum { A = EBT_PAGETRACE_ALLOC, F = EBT_PAGETRACE_FREE, S = EBT_PAGETRACE_SCAVENGE };

struct step {
	uint64_t ns;
	int32_t p;
	uint32_t what;
	uint64_t page, pages; /* page: from BASE */
};

static void begin(struct pages_model *m)
{
	struct pages_options o = {.page_bytes = PAGE};
	if (pages_model_init(m, &o))
		ok(0, "no memory");
}

static void feed(struct pages_model *m, const struct step *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ebt_pagetrace_event ev = {s[i].ns, BASE + s[i].page * PAGE, s[i].pages,
						 s[i].p, s[i].what};
		if (pages_model_events(m, &ev, 1))
			ok(0, "an event is applied");
	}
}
#define FEED(m, ...)                                            \
	do {                                                    \
		const struct step steps[] = {__VA_ARGS__};      \
		feed(m, steps, sizeof(steps) / sizeof(*steps)); \
	} while (0)

static void check_counts(const struct pages_model *m, uint64_t allocated, uint64_t free,
			 uint64_t scavenged, const char *name)
{
	const uint64_t *n = m->heap.count;
	ok(n[PAGES_ALLOCATED] == allocated && n[PAGES_FREE] == free &&
		   n[PAGES_SCAVENGED] == scavenged,
	   "%s: %llu allocated, %llu free, %llu scavenged", name,
	   (unsigned long long)n[PAGES_ALLOCATED], (unsigned long long)n[PAGES_FREE],
	   (unsigned long long)n[PAGES_SCAVENGED]);
}

static void test_runs(void)
{
	struct pages_model m;
	struct pages_alive a;
	begin(&m);
	/* Across the border of two chunks. */
	FEED(&m, {100, 0, A, 510, 4}, {110, 0, A, 520, 8}, {120, 1, A, 528, 2},
	     {130, 1, A, 530, 3});
	FEED(&m, {200, 1, F, 510, 4}, {210, 0, F, 520, 4}, {220, 0, F, 524, 4},
	     {240, 0, F, 528, 5});
	FEED(&m, {300, 0, A, 600, 8}, {310, 0, F, 603, 2});
	pages_model_end(&m);
	is(m.lifetimes.size[2].ns.count, 1, "a free of exactly an allocation is a lifetime");
	is(m.lifetimes.size[2].ns.max, 100, "from the one to the other");
	is(m.lifetimes.partial, 3, "frees of a part of a run are counted apart, also of its rest");
	is(m.lifetimes.joined, 1, "so are frees of several runs");
	is(m.moved.freed, 19, "their pages are freed");
	pages_alive_make(&a, &m.heap);
	is(a.rest, 6, "what is left of a run is no run");
	is(m.damage.fault[PAGES_DOUBLE_FREE], 0, "none of this is a violation");
	is(pages_model_elapsed_ns(&m), 210, "the time is that from the first event to the last");
	pages_model_done(&m);
}

static void test_fragmentation(void)
{
	struct pages_model m;
	struct pages_fragmentation f;
	begin(&m);
	/* In the chunks 0, 1 and 3. */
	FEED(&m, {10, 0, A, 500, 524}, {20, 0, F, 500, 524}, {30, 0, A, 1536, 10},
	     {40, 0, F, 1536, 10});
	FEED(&m, {50, 0, S, 510, 4}, {60, 0, A, 1541, 1});
	pages_fragmentation_make(&f, &m.heap);
	ok(f.all.runs == 3 && f.all.pages == 533 && f.all.largest == 524 &&
		   f.all.largest_addr == BASE + 500 * PAGE,
	   "a run crosses the border of chunks, not a chunk that does not exist");
	ok(f.free.runs == 4 && f.free.largest == 510, "scavenged pages divide those that are free");
	ok(f.scavenged.runs == 1 && f.scavenged.size[2].pages == 4, "and are runs themselves");
	ok(pages_fragmentation_share(&f.all) > 0.0168 && pages_fragmentation_share(&f.all) < 0.0169,
	   "9 of 533 pages are outside the largest one");
	pages_model_done(&m);
}

/* Chunks 0 and 1 are scavenged to their borders, and so is 3; of chunk 2 nothing is known. */
static void test_scavenged_runs(void)
{
	struct pages_model m;
	struct pages_fragmentation f;
	begin(&m);
	FEED(&m, {10, 0, A, 500, 524}, {20, 0, F, 500, 524}, {30, 0, S, 500, 524});
	FEED(&m, {40, 0, A, 1536, 10}, {50, 0, F, 1536, 10}, {60, 0, S, 1536, 10});
	pages_fragmentation_make(&f, &m.heap);
	ok(f.scavenged.runs == 2 && f.scavenged.pages == 534 && f.scavenged.largest == 524 &&
		   f.scavenged.largest_addr == BASE + 500 * PAGE,
	   "a scavenged run crosses the border of chunks, not a chunk that does not exist");
	ok(f.all.runs == 2 && f.all.largest == 524 && !f.free.runs,
	   "nor do runs that are not in use");
	pages_model_done(&m);
	begin(&m);
	FEED(&m, {10, 0, A, 500, 524}, {20, 0, F, 500, 524});
	FEED(&m, {40, 0, A, 1536, 10}, {50, 0, F, 1536, 10});
	pages_fragmentation_make(&f, &m.heap);
	ok(f.free.runs == 2 && f.free.largest == 524, "nor do free runs");
	pages_model_done(&m);
}

static void test_damage_sums(void)
{
	struct pages_damage d = {0};
	struct ebt_pagetrace_event ev = {.what = EBT_PAGETRACE_DAMAGE, .pages = 24};
	for (unsigned i = 1; i <= 5 * PAGES_FIRST_FAULTS; i++) {
		ev.addr = i;
		pages_damage_add(&d, &ev);
	}
	ok(d.damages == 5 * PAGES_FIRST_FAULTS && d.damaged_bytes == 24 * d.damages,
	   "all damage is counted, with its bytes");
	is(d.damage[PAGES_FIRST_FAULTS - 1].addr, PAGES_FIRST_FAULTS, "the first ones are kept");
	for (unsigned i = 1; i <= 5 * PAGES_UNSEEN_FREES; i++)
		pages_damage_unseen_free(&d, &ev);
	is(d.unseen_frees, PAGES_UNSEEN_FREES, "and as many frees that may be explained later");
}

static void test_violations(void)
{
	struct pages_model m;
	begin(&m);
	FEED(&m, {100, 0, A, 0, 4}, {110, 0, A, 2, 4}, {120, 0, F, 5, 3}, {130, 0, S, 0, 8});
	FEED(&m, {140, 0, S, 8, 2}, {150, 0, F, 8, 2}, {160, 0, S, 100, 5}, {170, 0, S, 0, 8});
	pages_model_end(&m);
	is(m.damage.fault[PAGES_DOUBLE_ALLOC], 1, "allocated pages that are allocated: by event");
	is(m.damage.fault[PAGES_DOUBLE_FREE], 2, "pages freed that are not allocated: by event");
	is(m.damage.fault[PAGES_SCAVENGED_ALLOCATED], 1, "allocated pages scavenged: by event");
	is(m.damage.fault[PAGES_SCAVENGED_UNSEEN], 7, "unseen pages scavenged: by page");
	is(pages_damage_violations(&m.damage), 4, "unseen pages are no violation");
	is(m.damage.firsts, 6, "the first ones are kept");
	is(m.damage.first[0].pages, 2, "with the pages that were wrong");
	check_counts(&m, 0, 2, 13, "violations are applied");
	pages_model_done(&m);
}

static void test_late_boot(void)
{
	struct pages_model m;
	begin(&m);
	FEED(&m, {1000, 0, A, 100, 10}, {1100, 0, F, 0, 3}, {1200, 1, A, 0, 2},
	     {1300, 1, F, 110, 4});
	is(m.damage.fault[PAGES_DOUBLE_FREE], 2, "frees of unseen pages are violations at first");
	FEED(&m, {500, -1, A, 0, 5}, {510, -1, A, 5, 1});
	pages_model_end(&m);
	is(m.damage.fault[PAGES_DOUBLE_FREE], 1, "not when P -1 turns out to have allocated them");
	is(m.damage.fault[PAGES_DOUBLE_ALLOC], 0, "nor is that a double allocation");
	is(m.damage.firsts, 1, "nor is it listed");
	is(m.damage.first[0].event.addr, BASE + 110 * PAGE, "the other one is");
	check_counts(&m, 15, 5, 0, "the pages are what they were last");
	is(m.first_ns, 500, "the trace begins with P -1");
	is(m.from_ns, 500, "and so does what is counted");
	is(m.damage.late_boot, 2, "its events came late");
	is(m.damage.late, 0, "no others did");
	/* 10 and 3 of P -1 at 1000, and then 15 without 3 and with 2. */
	is(m.peak, 15, "the peak has its pages");
	struct pages_page page[1], heat[7];
	pages_heap_read(pages_heap_chunk(&m.heap, BASE), 3, 1, page);
	ok(page->owner && m.owners.owner[page->owner].p == -1 && page->since_ns == 500,
	   "they are its, since then");
	FEED(&m, {520, -1, A, 100, 1});
	is(m.damage.fault[PAGES_DOUBLE_ALLOC], 1,
	   "what another P has allocated is allocated twice");
	pages_heap_read(pages_heap_chunk(&m.heap, BASE), 0, 7, heat);
	ok(heat[0].allocations == 2 && heat[5].allocations == 1 && !heat[6].allocations,
	   "its pages, and no others, have been allocated once more");
	pages_model_done(&m);
}

/* Of one batch, whose lifetimes are counted together: more of them than wait at a time. */
static void test_batch(void)
{
	enum { RUNS = 3 * PAGES_LIFETIMES_WAITING + 7 };
	static struct ebt_pagetrace_event ev[2 * RUNS];
	struct pages_model m;
	begin(&m);
	for (uint64_t i = 0; i < RUNS; i++) {
		uint64_t addr = BASE + i * CHUNK / 4, pages = 1 + i % 2;
		ev[i] = (struct ebt_pagetrace_event){i, addr, pages, 0, A};
		ev[RUNS + i] = (struct ebt_pagetrace_event){RUNS + 2 * i, addr, pages, 0, F};
	}
	is(pages_model_events(&m, ev, 2 * RUNS), 0, "a batch of many runs is applied");
	const struct histogram *one = &m.lifetimes.size[0].ns, *two = &m.lifetimes.size[1].ns;
	is(one->count, (RUNS + 1) / 2, "every lifetime of a page is counted before it returns");
	is(two->count, RUNS / 2, "so is every one of two pages");
	is(one->sum + two->sum, RUNS * RUNS + RUNS * (RUNS - 1) / 2, "their sum is exact");
	ok(one->min == RUNS && one->max == 2 * RUNS - 1, "so are the shortest and the longest");
	pages_model_end(&m);
	pages_model_done(&m);
}

static void test_hostile(void)
{
	struct pages_model m;
	struct pages_options o = {.page_bytes = PAGE, .pages_max = 8 * 512};
	pages_model_init(&m, &o);
	const struct ebt_pagetrace_event bad[] = {
		{100, BASE, 1ull << 34, 0, A},
		{100, BASE, UINT64_MAX, 0, F},
		{100, BASE, 0, 0, A},
		{100, BASE + 1, 1, 0, A},
		{100, UINT64_MAX & ~(PAGE - 1ull), 2, 0, A},
		{100, (1ull << 48) - PAGE, 2, 0, S},
		{100, 1ull << 48, 1, 0, A},
		{100, BASE, 1, 0, 0},
		{100, BASE, 1, 0, 77},
		{100, BASE, 8 * 512 + 1, 0, A},
	};
	size_t n = sizeof(bad) / sizeof(*bad);
	is(pages_model_events(&m, bad, n), 0, "events of impossible pages are no error");
	is(m.damage.fault[PAGES_UNTRACKED], n, "they are counted");
	is(m.heap.chunks, 0, "and need no memory");
	FEED(&m, {100, 0, A, 0, 8 * 512}, {110, 0, A, 9 * 512, 1}, {120, 0, F, 4, 4});
	is(m.damage.fault[PAGES_UNTRACKED], n + 1, "so is one beyond the limit");
	check_counts(&m, 8 * 512 - 4, 4, 0, "the heap at the limit goes on");
	for (int32_t p = 0; p < 3000; p++)
		FEED(&m, {200 + (uint64_t)p, p, F, 16 + (uint64_t)p % 512, 1},
		     {200 + (uint64_t)p, p, A, 16 + (uint64_t)p % 512, 1});
	struct pages_matrix t;
	is(pages_matrix_make(&t, &m.owners, 4), 0, "thousands of Ps have a matrix");
	ok(t.ps == 5 && t.owner[0].p == 0 && !t.owner[4].used && t.owner[4].events > 5900 &&
		   t.freed == m.moved.freed,
	   "in which most of them are one row");
	pages_matrix_done(&t);
	pages_model_end(&m);
	pages_model_done(&m);
}

static void test_window(void)
{
	struct pages_model m;
	struct pages_options o = {.page_bytes = PAGE, .from = {100, true}, .until = {200, true}};
	pages_model_init(&m, &o);
	FEED(&m, {1000, 0, A, 0, 8}, {1099, 1, F, 0, 2}, {1100, 0, F, 2, 2}, {1150, 0, A, 20, 9},
	     {1200, 1, F, 20, 9}, {1201, 0, F, 4, 4}, {1300, 0, A, 4, 4});
	pages_model_end(&m);
	check_counts(&m, 4, 13, 0, "the state is of all events up to the end of a window");
	is(m.start[PAGES_ALLOCATED], 6, "it began with that of all events before");
	is(m.events, 3, "events on both borders are in it");
	is(m.moved.freed, 11, "what happened before is not");
	is(m.peak, 13, "the peak is that of the window");
	is(pages_model_elapsed_ns(&m), 100, "its time is that of the options");
	is(m.timeline->begin_ns, 1100, "the timeline begins with it");
	struct pages_heat t;
	is(pages_heat_make(&t, &m, 1), 0, "heat is made");
	is(t.allocations, 9, "allocations before it are not counted");
	pages_heat_done(&t);
	pages_model_done(&m);
	pages_model_init(&m, &o);
	FEED(&m, {1000, 0, A, 0, 8}, {1050, 1, F, 0, 2});
	pages_model_end(&m);
	ok(!m.events && !m.moved.freed && m.start[PAGES_ALLOCATED] == 6,
	   "of a window after the end nothing is counted");
	pages_model_done(&m);
}

/* A heap that grows by a page every microsecond for an hour, then loses all. */
static void test_timeline(void)
{
	struct pages_model m;
	begin(&m);
	uint64_t n = 100000, step = 36000000;
	FEED(&m, {0, 0, A, 0, 4000}, {1, 0, F, 0, 4000});
	for (uint64_t i = 0; i < n; i++)
		FEED(&m, {i * step, 0, A, i % 4096, 1}, {i * step + 1, 0, F, i % 4096, 1});
	FEED(&m, {n * step, 0, A, 0, 4096}, {n * step + 5, 0, F, 0, 4096},
	     {n * step + 6, 0, A, 0, 4096});
	pages_model_end(&m);
	const struct pages_timeline *t = m.timeline;
	uint64_t most = 0;
	for (uint32_t i = 0; i < t->count; i++)
		most = t->point[i].most > most ? t->point[i].most : most;
	ok(t->count <= PAGES_TIMELINE_POINTS && t->count * t->width_ns >= n * step,
	   "an hour has at most as many buckets as a second");
	is(most, 4096, "a peak of 5 ns is in one of them");
	is(t->point[0].most, 4000, "so is one that all later halvings found");
	is(m.peak_ns, n * step, "and when it was reached first is known exactly");
	is(t->point[t->count - 1].moved.freed, n + 4000 + 4096, "the last one has all that moved");
	bool rises = true;
	for (uint32_t i = 1; i < t->count; i++)
		rises &= t->point[i].moved.freed >= t->point[i - 1].moved.freed;
	ok(rises, "what moved never falls");
	pages_model_done(&m);
}

static void test_occupancy(void)
{
	struct pages_model m;
	struct pages_occupancy o;
	begin(&m);
	/* Huge pages: full; one page of P 2 and one of P 3 in free ones; half; scavenged;
	 * unseen. */
	FEED(&m, {10, 0, A, 0, 256}, {20, 0, A, 256, 256}, {30, 0, F, 256, 256}, {40, 2, A, 300, 1},
	     {50, 3, A, 310, 1}, {60, 3, A, 312, 1}, {70, 0, A, 512, 128}, {80, 0, A, 640, 128});
	FEED(&m, {90, 0, F, 640, 128}, {100, 0, S, 640, 128}, {110, 0, A, 1024, 256},
	     {120, 0, F, 1024, 256}, {130, 0, S, 1024, 256});
	is(pages_occupancy_make(&o, &m, 5), 0, "occupancy is made");
	const struct pages_units *h = &o.huge, *c = &o.chunk;
	ok(h->units == 4 && h->full == 1 && h->empty == 1 && h->share[0] == 1 && h->share[4] == 1,
	   "huge pages are full, empty, or partly allocated");
	ok(h->whole == 2 && h->mixed == 1 && h->returned == 1, "in memory, in part, or returned");
	ok(h->kept == 1 && h->kept_allocated == 3 && h->kept_free == 253, "one is kept by few");
	ok(c->units == 3 && c->share[5] == 1 && c->share[2] == 1 && c->empty == 1 && !c->kept,
	   "a chunk is as full as both of its halves");
	const struct pages_kept *k = o.kept;
	ok(o.kept_rows == 1 && k->addr == BASE + 256 * PAGE && k->holders == 2 &&
		   m.owners.owner[k->holder[0].owner].p == 3 && k->holder[0].pages == 2 &&
		   k->holder[0].first_ns == 50 && k->holder[0].last_ns == 60 &&
		   m.owners.owner[k->holder[1].owner].p == 2,
	   "and by whom, since when");
	pages_occupancy_done(&o);
	pages_model_done(&m);
}

static void test_kernel_pages(void)
{
	struct pages_model m;
	struct pages_options o = {.page_bytes = 4096};
	struct pages_occupancy c;
	pages_model_init(&m, &o);
	const struct ebt_pagetrace_event ev[] = {{10, 0x7f0000001000, 1023, 0, A},
						 {20, 0x7f0000000000, 1, 0, A},
						 {30, 0x7f0000400000, 512, 0, A}};
	is(pages_model_events(&m, ev, 3), 0, "pages of 4 KiB are taken");
	check_counts(&m, 1536, 0, 0, "all of them");
	is(pages_occupancy_make(&c, &m, 1), 0, "occupancy is made");
	ok(c.huge.units == 3 && c.huge.full == 3 && c.chunk.full == 1, "512 are a huge page");
	pages_occupancy_done(&c);
	pages_model_done(&m);
	o.page_bytes = 2u << 20;
	pages_model_init(&m, &o);
	const struct ebt_pagetrace_event huge[] = {{10, 3ull << 21, 2, 0, A},
						   {20, 3ull << 21, 2, 0, F},
						   {UINT64_MAX, 5ull << 21, 1, 0, A}};
	is(pages_model_events(&m, huge, 3), 0, "so are pages of 2 MiB, of which a chunk has two");
	check_counts(&m, 1, 2, 0, "all of them, at any time");
	is(m.lifetimes.size[1].ns.sum, 10, "a run that lies in two chunks has one lifetime");
	pages_model_done(&m);
}

static int put_counts(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	char text[128];
	snprintf(text, sizeof(text), "%d %d %d %d %d %d", (int)m->heap.count[PAGES_ALLOCATED],
		 (int)m->heap.count[PAGES_FREE], (int)m->heap.count[PAGES_SCAVENGED],
		 (int)v->others, (int)pages_damage_violations(&m->damage), (int)m->damage.has_boot);
	buf_puts(b, text);
	return 0;
}

/* Ps, of which more may come than there are slots. */
static void test_owners(void)
{
	struct pages_owners o = {0};
	uint32_t slot = 0, last = 0, wrong = 0;
	for (int32_t p = -1; p < PAGES_OWNERS_MAX - 2; p++, last = slot)
		wrong += pages_owners_find(&o, p, &slot) || slot != last + 1;
	ok(!wrong && slot == PAGES_OWNERS_MAX - 1, "as many Ps as there are slots have one each");
	ok(!pages_owners_find(&o, 70000, &slot) && slot == 0 && o.owner[0].used,
	   "one more is among the others");
	ok(!pages_owners_find(&o, 5, &slot) && slot == 7, "those before it keep theirs");
	o.owner[7].allocated = o.owner[0].freed = 3;
	pages_owners_clear(&o);
	ok(o.owner[7].p == 5 && o.owner[7].used && o.owner[0].used && !o.owner[7].allocated &&
		   !o.owner[0].freed,
	   "they are known when counts begin anew");
	pages_owners_done(&o);
}

static void test_sink(void)
{
	struct session *s;
	struct sink *k;
	struct pages_report_options o = {.model.page_bytes = PAGE};
	char text[128] = "";
	int fds[2];
	if (session_new(&s) || pipe(fds) || pages_new(s, fds[1], put_counts, &o, &k)) {
		ok(0, "a sink is made");
		return;
	}
	struct ebt_event ev[6] = {
		{.ts = 9000, .kind = EBT_PAGE_FREE, .domain = 1, .arg = {BASE, 2}},
		{.ts = 9500, .kind = EBT_BEGIN, .domain = 1},
		{.ts = 9600, .kind = EBT_PAGE_ALLOC, .domain = 1, .process = 7, .arg = {BASE, 2}},
		{.ts = 9700, .kind = EBT_PAGE_SCAVENGE, .domain = 1, .arg = {BASE, 1}},
		/* Late by 5 us: before the free. */
		{.ts = 9800,
		 .kind = EBT_PAGE_ALLOC,
		 .domain = EBT_NO_DOMAIN,
		 .size = 5,
		 .arg = {BASE, 3}},
	};
	is(sink_events(k, ev, 5), 0, "events of a pipeline are taken");
	is(sink_forget(k, 0), 0, "the process ends");
	is(sink_events(k, ev, 1), 0, "its index is another's");
	is(sink_end(k), 0, "the report is written");
	ok(read(fds[0], text, sizeof(text) - 1) > 0, "to the descriptor");
	is_str(text, "1 1 1 2 0 1", "it has the pages of the first process, and their own times");
	sink_free(k);
	session_free(s);
	close(fds[0]);
	close(fds[1]);
}

/* The Ps of a summary: not -1, which has the pages that were there at first, whichever comes
 * first. */
static void test_summary(void)
{
	static const uint16_t first[][3] = {{EBT_NO_DOMAIN, 3, 5}, {3, 5, EBT_NO_DOMAIN}};
	for (unsigned order = 0; order < 2; order++) {
		struct session *s;
		struct sink *k;
		struct pages_report_options o = {.model.page_bytes = PAGE};
		char text[2048] = "";
		int fds[2];
		if (session_new(&s) || pipe(fds) ||
		    pages_new(s, fds[1], pages_summary_text, &o, &k))
			abort();
		for (unsigned i = 0; i < 3; i++) {
			struct ebt_event ev = {.ts = 1000 + 500 * i,
					       .kind = EBT_PAGE_ALLOC,
					       .domain = first[order][i],
					       .arg = {BASE + 10 * i * PAGE, 2}};
			if (sink_events(k, &ev, 1))
				abort();
		}
		is(sink_end(k), 0, "a summary is written");
		ok(read(fds[0], text, sizeof(text) - 1) > 0, "to the descriptor");
		text[strcspn(text, "\n")] = '\0';
		is_str(text, "3 events of 2 Ps in 1.000 us, pages of 8.0 KiB",
		       "its first line has all events, and the Ps without -1");
		sink_free(k);
		session_free(s);
		close(fds[0]);
		close(fds[1]);
	}
}

/* Of an address space. */
static struct ebt_event space_event(uint64_t ts, uint16_t kind, uint32_t cause, uint32_t tid,
				    uint64_t page, uint64_t pages)
{
	return (struct ebt_event){.ts = ts,
				  .kind = kind,
				  .id = cause,
				  .tid = tid,
				  .domain = EBT_NO_DOMAIN,
				  .flags = EBT_F_BPF,
				  .arg = {BASE + page * 4096, pages}};
}

static int put_space(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	char text[256];
	int n = snprintf(
		text, sizeof(text), "%u: %d-%d, %d events in %d ns, %d moved, %d violations;",
		m->opt.page_bytes, (int)m->start[PAGES_ALLOCATED],
		(int)m->heap.count[PAGES_ALLOCATED], (int)m->events, (int)pages_model_elapsed_ns(m),
		(int)m->moved.allocated, (int)pages_damage_violations(&m->damage));
	n += snprintf(text + n, sizeof(text) - (size_t)n, " file %d, gone %d;",
		      (int)m->causes.appeared[EBT_PAGE_FILE], (int)m->causes.gone[EBT_PAGE_GONE]);
	for (uint32_t i = 1; i < m->owners.count; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %d:%d", m->owners.owner[i].p,
			      (int)m->owners.owner[i].allocated);
	buf_puts(b, text);
	return 0;
}

static void test_space_lifetimes(void)
{
	struct pages_model m;
	struct pages_options o = {.page_bytes = PAGE, .is_space = true};
	if (pages_model_init(&m, &o))
		ok(0, "no memory");
	FEED(&m, {100, 7, A, 0, 4}, {200, 8, S, 0, 4}, {300, 7, A, 0, 2}, {350, 7, F, 0, 2});
	FEED(&m, {400, 7, A, 8, 4}, {450, 7, S, 8, 2}, {460, 7, S, 40, 1});
	pages_model_end(&m);
	is(m.lifetimes.size[2].ns.max, 100, "what is returned has been resident until then");
	is(m.lifetimes.partial, 1, "also parts of runs");
	is(m.owners.owner[1].p == 7 ? pages_owners_freed(&m.owners, 1, 2) : 0, 4,
	   "by another thread than touched it");
	is(m.churn.again_ns.max, 100, "and may be taken again");
	is(m.moved.freed, 2, "it is not freed");
	is(m.moved.returned, 7, "but returned");
	is(pages_damage_violations(&m.damage), 0, "which is no violation");
	is(m.damage.fault[PAGES_SCAVENGED_UNSEEN], 1, "unless nothing is known of it");
	pages_model_done(&m);
}

/* watched_ns after the events, which end at 300; to: a limit of the options, 0: none. */
static void check_watched(uint64_t watched_ns, uint64_t to, uint64_t want, const char *name)
{
	struct pages_model m;
	struct pages_options o = {.page_bytes = PAGE, .until = {to, to != 0}};
	if (pages_model_init(&m, &o))
		ok(0, "no memory");
	FEED(&m, {100, 1, A, 0, 4}, {300, 1, F, 0, 4});
	pages_model_watched(&m, watched_ns);
	pages_model_end(&m);
	is(pages_model_elapsed_ns(&m), want, name);
	pages_model_done(&m);
}

static void test_watched(void)
{
	check_watched(0, 0, 200, "a trace lasts until its last event");
	check_watched(1100, 0, 1000, "what is watched for longer lasts until then");
	check_watched(250, 0, 200, "never less");
	check_watched(1100, 500, 500, "and until --to at most");
}

static void test_page_sizes(void)
{
	is(pages_page_bytes(4096, 1), 4096, "pages have the process's size");
	is(pages_page_bytes(2u << 20, 1), 2u << 20, "up to that of a huge page");
	is(pages_page_bytes(0, 8192), 8192, "if it is known");
	is(pages_page_bytes(4097, 8192), 8192, "and can be: it is a power of two");
	is(pages_page_bytes(2048, 8192), 8192, "not too small");
	is(pages_page_bytes(1u << 31, 8192), 8192, "nor too large");
}

static void test_space(void)
{
	struct session *s;
	struct sink *k;
	struct pages_report_options o = {.model.page_bytes = PAGE};
	char text[256] = "";
	int fds[2];
	uint32_t process;
	if (session_new(&s) || pipe(fds) || processes_of(&s->processes, 5, &process) ||
	    pages_new(s, fds[1], put_space, &o, &k)) {
		ok(0, "a sink is made");
		return;
	}
	processes_announce(&s->processes, process)->page_bytes = 4096;
	struct ebt_event ev[] = {
		space_event(90, EBT_PAGE_ALLOC, EBT_PAGE_DONE, 7, 100, 1),
		space_event(100, EBT_PAGE_ALLOC, EBT_PAGE_SNAPSHOT, 0, 0, 4),
		space_event(100, EBT_PAGE_ALLOC, EBT_PAGE_SNAPSHOT, 0, 8, 1),
		space_event(110, EBT_PAGE_ALLOC, EBT_PAGE_DONE, 7, 5, 1),
		/* Of a thread whose number is the same modulo 2^16; then the first one again. */
		space_event(120, EBT_PAGE_ALLOC, EBT_PAGE_DONE, 65536 + 7, 9, 2),
		space_event(130, EBT_PAGE_ALLOC, EBT_PAGE_DONE, 7, 11, 1),
		space_event(140, EBT_PAGE_ALLOC, EBT_PAGE_FILE, 0, 20, 16),
		space_event(150, EBT_PAGE_FREE, EBT_PAGE_GONE, 0, 2, 2),
		space_event(160, EBT_PAGE_SCAVENGE, EBT_PAGE_DONE, 7, 20, 4),
	};
	for (size_t i = 0; i < sizeof(ev) / sizeof(*ev); i++)
		ev[i].process = process;
	is(sink_events(k, ev, sizeof(ev) / sizeof(*ev)), 0, "events of an address space are taken");
	is(sink_advance(k, 1100), 0, "nothing comes for some time");
	is(sink_advance(k, UINT64_MAX), 0, "nor later");
	is(sink_end(k), 0, "their report is written");
	ok(read(fds[0], text, sizeof(text) - 1) > 0, "to the descriptor");
	is_str(text,
	       "4096: 6-20, 6 events in 1000 ns, 20 moved, 0 violations; file 16, gone 2; 7:2 0:16 "
	       "65543:2",
	       "with the process's size of pages, what was there at first, the time watched, "
	       "causes and threads");
	sink_free(k);
	session_free(s);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	test_runs();
	test_damage_sums();
	test_fragmentation();
	test_scavenged_runs();
	test_violations();
	test_late_boot();
	test_batch();
	test_hostile();
	test_window();
	test_timeline();
	test_occupancy();
	test_kernel_pages();
	test_owners();
	test_sink();
	test_summary();
	test_space();
	test_space_lifetimes();
	test_page_sizes();
	test_watched();
	return tap_done();
}
