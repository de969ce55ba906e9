/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of pages against an array of flags. */
#include "source/pages/set.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdbool.h>

/* The pages of the model: three regions, so that chunks are far apart, and their ends matter. */
#define REGION	1500
#define REGIONS 3
#define PAGES	(REGION * REGIONS)
static const uint64_t region_at[REGIONS] = {0, 700, 1ull << 40};

static uint64_t state = 7;

static uint64_t number(unsigned i)
{
	return region_at[i / REGION] * PAGE_CHUNK_PAGES + i % REGION;
}

struct got {
	bool flag[PAGES];
	uint64_t runs, end;
	bool bad; /* out of order, not maximal, or outside of the model */
};

static int note(void *ctx, uint64_t first, uint64_t pages)
{
	struct got *g = ctx;
	g->bad |= !pages || (g->runs && first <= g->end);
	g->runs++;
	g->end = first + pages;
	for (unsigned i = 0; i < PAGES; i++)
		g->flag[i] |= number(i) >= first && number(i) < first + pages;
	return 0;
}

static bool same(const struct got *g, const bool want[PAGES])
{
	return !g->bad && !memcmp(g->flag, want, sizeof(g->flag));
}

/* A random range within one region, or, now and then, all. */
static void draw(uint64_t *first, uint64_t *pages, bool in[PAGES])
{
	unsigned from = (unsigned)(random_next(&state) % PAGES);
	unsigned most = REGION - from % REGION;
	unsigned n = (unsigned)(random_next(&state) % (random_next(&state) % 4 ? 70 : most) + 1);
	n = n < most ? n : most;
	*first = number(from);
	*pages = n;
	for (unsigned i = 0; i < PAGES; i++)
		in[i] = i >= from && i < from + n;
}

static void check_random(void)
{
	struct page_set s = {0};
	static bool has[PAGES], in[PAGES], want[PAGES];
	bool good = true;
	for (unsigned round = 0; round < 3000 && good; round++) {
		struct got g = {0};
		uint64_t first, pages, count = 0;
		bool add = random_next(&state) % 2;
		draw(&first, &pages, in);
		if (!add && random_next(&state) % 50 == 0) {
			first = 0;
			pages = PAGE_SET_ALL;
			memset(in, 1, sizeof(in));
		}
		for (unsigned i = 0; i < PAGES; i++) {
			want[i] = in[i] && has[i] != add;
			has[i] = in[i] ? add : has[i];
			count += has[i];
		}
		good &= !(add ? page_set_add(&s, first, pages, note, &g)
			      : page_set_remove(&s, first, pages, note, &g));
		good &= same(&g, want) && s.pages == count && s.chunks <= count;
		g = (struct got){0};
		good &= !page_set_each(&s, NULL, 0, PAGE_SET_ALL, note, &g) && same(&g, has);
	}
	ok(good, "what is added and removed is what an array of flags has, in maximal runs");
	page_set_done(&s);
}

static void check_difference(void)
{
	struct page_set a = {0}, b = {0};
	static bool in_a[PAGES], in_b[PAGES], in[PAGES], want[PAGES];
	uint64_t first, pages;
	for (unsigned i = 0; i < 60; i++) {
		struct page_set *s = i % 2 ? &a : &b;
		bool *has = i % 2 ? in_a : in_b;
		draw(&first, &pages, in);
		page_set_add(s, first, pages, NULL, NULL);
		for (unsigned k = 0; k < PAGES; k++)
			has[k] |= in[k];
	}
	bool good = true;
	for (unsigned i = 0; i < 200; i++) {
		struct got g = {0};
		draw(&first, &pages, in);
		for (unsigned k = 0; k < PAGES; k++)
			want[k] = in[k] && in_a[k] && !in_b[k];
		good &= !page_set_each(&a, &b, first, pages, note, &g) && same(&g, want);
	}
	ok(good, "the runs of a range that are in one set and not in another");
	page_set_done(&a);
	page_set_done(&b);
}

static int refuse(void *ctx, uint64_t first, uint64_t pages)
{
	(void)first;
	(void)pages;
	++*(int *)ctx;
	return -EIO;
}

int main(void)
{
	struct page_set s = {0};
	int calls = 0;
	check_random();
	check_difference();
	page_set_add(&s, 10, 1, NULL, NULL);
	page_set_add(&s, 20, 1, NULL, NULL);
	ok(page_set_remove(&s, 0, PAGE_SET_ALL, refuse, &calls) == -EIO && calls == 1,
	   "an error of the caller ends its runs");
	ok(!s.pages && !s.chunks, "what was to be removed is removed nevertheless");
	ok(!page_set_add(&s, UINT64_MAX - 3, PAGE_SET_ALL, NULL, NULL) && s.pages == 3,
	   "a range ends with the last number");
	page_set_done(&s);
	return tap_done();
}
