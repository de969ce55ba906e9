/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of 4 KiB as pages of 8 KiB: by hand-made cases, then random ones against a naive model. */
#include "report/pages/model/pages.h"
#include "report/pages/model/round.h"
#include "tests/random.h"
#include "tests/tap.h"

#define BASE   0x7f0000000000ull
#define HALVES 4096 /* two chunks and some */
#define EVENTS 40000

enum { A = EBT_PAGETRACE_ALLOC, F = EBT_PAGETRACE_FREE, S = EBT_PAGETRACE_SCAVENGE };

struct got {
	char text[512];
	size_t len;
};

static int note(void *ctx, const struct ebt_pagetrace_event *e)
{
	struct got *g = ctx;
	g->len += (size_t)snprintf(g->text + g->len, sizeof(g->text) - g->len, "%s%c%d+%d",
				   g->len ? " " : "", " AFS"[e->what],
				   (int)((e->addr - BASE) / EBT_PAGETRACE_PAGE_BYTES),
				   (int)e -> pages);
	return 0;
}

struct step {
	uint32_t what;
	uint64_t half, pages;
};

static void check(const char *name, const struct step *step, size_t n, const char *want)
{
	struct pages_round r;
	struct got got = {0};
	pages_round_init(&r);
	for (size_t i = 0; i < n; i++) {
		struct ebt_pagetrace_event e = {.addr = BASE + step[i].half * PAGES_ROUND_BYTES,
						.pages = step[i].pages,
						.what = step[i].what};
		if (pages_round_event(&r, &e, note, &got))
			ok(0, "an event is taken");
	}
	is_str(got.text, want, name);
	pages_round_done(&r);
}
#define CHECK(name, want, ...)                                            \
	do {                                                              \
		const struct step steps[] = {__VA_ARGS__};                \
		check(name, steps, sizeof(steps) / sizeof(*steps), want); \
	} while (0)

static void test_cases(void)
{
	CHECK("whole pages are as they are", "A0+2 F0+2 S0+2 A1+1", {A, 0, 4}, {F, 0, 4}, {S, 0, 4},
	      {A, 2, 2});
	CHECK("a half is a page, and the other half no event", "A0+1 A1+1", {A, 0, 1}, {A, 1, 1},
	      {A, 3, 1});
	CHECK("it is allocated as long as a half is", "A0+1 F0+1", {A, 0, 2}, {F, 0, 1}, {F, 1, 1});
	CHECK("a part of a run may be new", "A1+1 A0+1 A2+1", {A, 2, 2}, {A, 1, 4});
	CHECK("what is returned while resident is freed first", "A0+2 F0+2 S0+2", {A, 0, 4},
	      {S, 0, 4});
	CHECK("a half that is free keeps its page from being scavenged", "A0+1 F0+1 S0+1",
	      {A, 0, 2}, {F, 0, 1}, {S, 1, 1}, {S, 0, 1});
	CHECK("a half that was never used does not", "A0+1 F0+1 S0+1 A0+1", {A, 1, 1}, {S, 1, 1},
	      {A, 0, 1});
	CHECK("runs end where pages change otherwise", "A0+1 A2+1 A1+1 F0+3", {A, 0, 2}, {A, 4, 2},
	      {A, 0, 6}, {F, 0, 6});
}

static void test_counts(void)
{
	struct pages_round r;
	struct got got = {0};
	static const struct ebt_pagetrace_event ev[] = {
		{.addr = BASE, .pages = 2, .what = A},
		{.addr = BASE + 4096, .pages = 1, .what = A},
		{.addr = BASE + 100, .pages = 1, .what = A},
		{.addr = BASE, .pages = 0, .what = A},
		{.addr = BASE, .pages = UINT64_MAX, .what = A},
		{.addr = 1ull << 60, .pages = 1, .what = A},
		{.addr = BASE, .pages = 1ull << 30, .what = A},
		{.addr = BASE, .pages = 1, .what = 9},
	};
	pages_round_init(&r);
	for (size_t i = 0; i < sizeof(ev) / sizeof(*ev); i++)
		pages_round_event(&r, &ev[i], note, &got);
	is(r.events, 8, "events are counted");
	is(r.widened, 1, "those that were widened");
	is(r.without, 1, "those that changed nothing");
	is(r.beyond, 6, "and those that are of no pages");
	is_str(got.text, "A0+1", "of which none is made");
	pages_round_done(&r);
}

static int feed(void *ctx, const struct ebt_pagetrace_event *e)
{
	return pages_model_events(ctx, e, 1);
}

/* Events of an address space, each in order for each of its pages. */
static void test_random(void)
{
	static uint8_t state[HALVES];
	struct pages_options o = {.page_bytes = EBT_PAGETRACE_PAGE_BYTES};
	struct pages_model m;
	struct pages_round r;
	uint64_t seed = 88;
	uint64_t wrong = 0;
	if (pages_model_init(&m, &o))
		ok(0, "no memory");
	pages_round_init(&r);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t at = random_next(&seed) % HALVES, n = 1 + random_next(&seed) % 9;
		uint32_t what = state[at] == PAGES_ALLOCATED ? (random_next(&seed) % 2 ? F : S) : A;
		bool allocated = what != A;
		uint64_t pages = 0;
		while (pages < n && at + pages < HALVES &&
		       (state[at + pages] == PAGES_ALLOCATED) == allocated)
			state[at + pages++] = what == A	  ? PAGES_ALLOCATED
					      : what == F ? PAGES_FREE
							  : PAGES_SCAVENGED;
		struct ebt_pagetrace_event e = {1000 + i, BASE + at * PAGES_ROUND_BYTES, pages, 0,
						what};
		if (pages_round_event(&r, &e, feed, &m))
			ok(0, "an event is taken");
		uint64_t want = 0;
		for (uint64_t k = 0; i % 64 == 0 && k < HALVES; k += 2)
			want += state[k] == PAGES_ALLOCATED || state[k + 1] == PAGES_ALLOCATED;
		wrong += i % 64 == 0 && want != m.heap.count[PAGES_ALLOCATED];
	}
	is(wrong, 0, "the allocated pages are those of which a half is");
	is(pages_damage_violations(&m.damage), 0, "what is made of events in order is in order");
	is(m.damage.fault[PAGES_SCAVENGED_UNSEEN], 0, "and nothing unknown is scavenged");
	ok(r.widened > EVENTS / 2 && r.without > 0 && m.events > EVENTS / 4, "much was rounded");
	pages_round_done(&r);
	pages_model_done(&m);
}

int main(void)
{
	test_cases();
	test_counts();
	test_random();
	return tap_done();
}
