/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of a heap: its columns are what the timeline's buckets count. */
#include "report/pages/model/pages.h"

#include <stdlib.h>
#include <string.h>

#include "report/pages/map.h"
#include "tests/random.h"
#include "tests/tap.h"

#define PAGE  EBT_PAGETRACE_PAGE_BYTES
#define BASE  0xc000000000ull
#define CHUNK (1ull << PAGES_CHUNK_SHIFT)

struct run {
	struct pages_model model;
	struct pages_map map;
};

static void begin(struct run *r)
{
	*r = (struct run){0};
	struct pages_options o = {.page_bytes = PAGE, .map = &r->map};
	if (pages_model_init(&r->model, &o))
		abort();
}

static void end(struct run *r)
{
	pages_model_done(&r->model);
	pages_map_done(&r->map);
}

/* Runs of pages in so many chunks, over so many ns. */
static void add_random(struct run *r, uint64_t seed, unsigned n, uint64_t chunks, uint64_t ns)
{
	uint64_t rnd = seed;
	for (unsigned i = 0; i < n; i++) {
		uint64_t page = random_next(&rnd) % (chunks * CHUNK / PAGE - 40);
		struct ebt_pagetrace_event e = {
			.time_ns = 1000000 + ns / n * i,
			.addr = BASE + page * PAGE,
			.pages = 1 + random_next(&rnd) % 40,
			.what = 1 + (uint32_t)(random_next(&rnd) % 3),
		};
		if (pages_model_events(&r->model, &e, 1))
			abort();
	}
	if (pages_model_end(&r->model))
		abort();
}

/* Pages by state in a column, from the shares of its cells. */
static void count(const struct run *r, uint32_t column, uint64_t ret[PAGES_STATES])
{
	uint64_t at = 0, all = 0;
	double sum[3] = {0}, pages = (double)r->model.heap.chunk_pages / r->map.rows;
	for (const struct pages_chunk *c; (c = pages_heap_next(&r->model.heap, &at));)
		for (uint32_t row = 0; row < r->map.rows; row++, all++) {
			struct pages_cell cell = pages_map_cell(&r->map, column, c, row);
			sum[0] += cell.share[PAGES_SHADE_ALLOCATED] * pages / 255;
			sum[1] += cell.share[PAGES_SHADE_FREE] * pages / 255;
			sum[2] += cell.share[PAGES_SHADE_SCAVENGED] * pages / 255;
		}
	ret[PAGES_ALLOCATED] = (uint64_t)(sum[0] + 0.5);
	ret[PAGES_FREE] = (uint64_t)(sum[1] + 0.5);
	ret[PAGES_SCAVENGED] = (uint64_t)(sum[2] + 0.5);
}

static unsigned different(const struct run *r, uint64_t by)
{
	const struct pages_timeline *t = r->model.timeline;
	unsigned bad = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t n[PAGES_STATES];
		count(r, i, n);
		for (unsigned s = PAGES_ALLOCATED; s < PAGES_STATES; s++) {
			uint64_t want = t->point[i].count[s];
			bad += n[s] > want ? n[s] - want > by : want - n[s] > by;
		}
	}
	return bad;
}

static void test_pages(void)
{
	struct run r;
	begin(&r);
	add_random(&r, 1, 5000, 3, 700000);
	is(r.map.rows, 512, "a small heap has a row a page");
	is(r.map.count, r.model.timeline->count, "it has a column for each bucket of the timeline");
	is(r.map.width_ns, r.model.timeline->width_ns, "of its width");
	is(different(&r, 0), 0, "each column has the pages by state that the bucket ends with");
	end(&r);
}

static void test_doubling(void)
{
	struct run r;
	begin(&r);
	add_random(&r, 2, 9000, 4, 3000000000ull);
	ok(r.map.width_ns > 1000000, "buckets were doubled many times");
	is(different(&r, 0), 0, "columns are doubled with them");
	end(&r);
}

/* The more chunks, the fewer rows has each; columns that were made before keep theirs. */
static void test_many_chunks(void)
{
	struct run r;
	begin(&r);
	add_random(&r, 3, 20000, 40, 90000000);
	is(r.map.rows, 32, "40 chunks have 32 rows each");
	ok(r.map.chunks * r.map.rows <= PAGES_MAP_ROWS, "all of them not more than the limit");
	is(different(&r, 40), 0,
	   "the shares of joined pages are right, to the precision of a cell");
	end(&r);
	begin(&r);
	add_random(&r, 4, 30000, 1100, 90000000);
	ok(r.map.rows == 1 && r.map.chunks > 1000, "a large heap has a row a chunk");
	is(different(&r, 600), 0, "counted by huge pages");
	end(&r);
}

static void test_cell(void)
{
	struct run r;
	begin(&r);
	const struct ebt_pagetrace_event e[] = {
		{.time_ns = 0, .addr = BASE + 2 * PAGE, .pages = 2, .what = EBT_PAGETRACE_ALLOC},
		{.time_ns = 5000, .addr = BASE + 3 * PAGE, .pages = 1, .what = EBT_PAGETRACE_FREE},
		{.time_ns = 7000,
		 .addr = BASE + 3 * PAGE,
		 .pages = 1,
		 .what = EBT_PAGETRACE_SCAVENGE},
		{.time_ns = 9000, .addr = BASE + CHUNK, .pages = 1, .what = EBT_PAGETRACE_ALLOC},
	};
	if (pages_model_events(&r.model, e, 4) || pages_model_end(&r.model))
		abort();
	uint64_t at = 0;
	const struct pages_chunk *c = pages_heap_next(&r.model.heap, &at);
	is(pages_map_cell(&r.map, 0, c, 2).share[PAGES_SHADE_ALLOCATED], 255,
	   "an allocated page in its row");
	is(pages_map_cell(&r.map, 0, c, 1).share[PAGES_SHADE_ALLOCATED], 0,
	   "not in the one before");
	is(pages_map_cell(&r.map, 4, c, 3).share[PAGES_SHADE_ALLOCATED], 255, "until it is freed");
	is(pages_map_cell(&r.map, 5, c, 3).share[PAGES_SHADE_FREE], 255, "then it is free");
	is(pages_map_cell(&r.map, 7, c, 3).share[PAGES_SHADE_SCAVENGED], 255, "then scavenged");
	c = pages_heap_next(&r.model.heap, &at);
	is(pages_map_cell(&r.map, 8, c, 0).share[PAGES_SHADE_ALLOCATED], 0,
	   "a chunk that there is not yet is empty");
	is(pages_map_cell(&r.map, 9, c, 0).share[PAGES_SHADE_ALLOCATED], 255, "and is there later");
	end(&r);
}

/* Pages that were found by reading the page tables. */
static void test_found(void)
{
	struct run r;
	begin(&r);
	const struct ebt_pagetrace_event e[] = {
		{.time_ns = 0, .addr = BASE, .pages = 1, .what = EBT_PAGETRACE_ALLOC},
		{.time_ns = 2000, .addr = BASE + PAGE, .pages = 2, .what = EBT_PAGETRACE_ALLOC},
		{.time_ns = 4000, .addr = BASE + PAGE, .pages = 1, .what = EBT_PAGETRACE_FREE},
		{.time_ns = 6000, .addr = BASE + 2 * PAGE, .pages = 1, .what = EBT_PAGETRACE_FREE},
	};
	if (pages_model_space_event(&r.model, &e[0], EBT_PAGE_DONE, 0) ||
	    pages_model_space_event(&r.model, &e[1], EBT_PAGE_FILE, 1500) ||
	    pages_model_space_event(&r.model, &e[2], EBT_PAGE_GONE, 700) ||
	    pages_model_space_event(&r.model, &e[3], EBT_PAGE_DONE, 0) || pages_model_end(&r.model))
		abort();
	uint64_t at = 0;
	const struct pages_chunk *c = pages_heap_next(&r.model.heap, &at);
	const struct pages_point *p = r.model.timeline->point;
	is(pages_map_cell(&r.map, 2, c, 0).share[PAGES_SHADE_ALLOCATED], 255,
	   "a page that was seen to be touched has the shade of those");
	is(pages_map_cell(&r.map, 2, c, 1).share[PAGES_SHADE_FOUND_ALLOCATED], 255,
	   "one that a reading found has another");
	is(pages_map_cell(&r.map, 2, c, 1).share[PAGES_SHADE_ALLOCATED], 0, "and not that one");
	is(pages_map_cell(&r.map, 4, c, 1).share[PAGES_SHADE_FOUND_FREE], 255,
	   "a reading may find that it is gone");
	is(pages_map_cell(&r.map, 6, c, 2).share[PAGES_SHADE_FREE], 255,
	   "what is freed by a call is not found");
	ok(p[2].count[PAGES_ALLOCATED] == 3 && p[2].count[PAGES_FOUND_ALLOCATED] == 2 &&
		   p[4].count[PAGES_FOUND_ALLOCATED] == 1 && p[4].count[PAGES_FOUND_FREE] == 1,
	   "the timeline has how many there are");
	is(r.model.causes.late_ns, 1500, "the longest time within which one happened is kept");
	end(&r);
}

/* Each is one buffer; what it was drawn with is given back. An emulated processor has no library
 * that draws. */
__attribute__((unused)) static void test_pictures(void)
{
	static const struct {
		const char *name, *begin;
		pages_put *put;
	} pictures[] = {{"svg", "<?xml", pages_map_svg},
			{"png", "\211PNG\r\n\032\n", pages_map_png},
			{"html", "<!DOCTYPE html>", pages_map_html}};
	struct run r;
	struct session *session;
	struct mappings none = {0};
	struct buf b;
	int mapped = tap_mappings(false);
	if (session_new(&session))
		abort();
	begin(&r);
	add_random(&r, 5, 500, 3, 1000000);
	struct pages_view v = {
		.session = session, .model = &r.model, .program = "", .mappings = &none, .top = 10};
	for (unsigned i = 0; i < 3; i++) {
		const char *begins = pictures[i].begin;
		if (buf_init(&b, -1, 4096))
			abort();
		ok(!pictures[i].put(&b, &v) && b.len > strlen(begins) &&
			   !memcmp(buf_str(&b), begins, strlen(begins)),
		   "a picture in %s", pictures[i].name);
		buf_done(&b);
	}
	end(&r);
	session_free(session);
	tap_keeps_mapped(tap_mappings(false) - mapped); /* what the library knows of fonts */
}

int main(void)
{
#ifndef __aarch64__
	test_pictures();
#endif
	test_found();
	test_cell();
	test_pages();
	test_doubling();
	test_many_chunks();
	return tap_done();
}
