// SPDX-License-Identifier: BSD-2-Clause
/* The comparison of two recordings, and how often it calls chance a change. */
#include "report/mem/model/diff.h"

#include <math.h>

#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

/* Adds a recording in a session of its own: samples of the sites a, b, …, NULL ends them; the last
 * event is at end_ns. */
static void add(struct mem_diff *d, unsigned side, double rate, uint64_t end_ns,
		const uint64_t *samples, size_t sites)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, rate, &(struct mem_options){0});
	for (size_t i = 0; i < sites; i++) {
		const char name[] = {(char)('a' + i), 0};
		uint64_t at = i + 1 == sites ? end_ns : 0;
		if (samples[i] || at)
			mem_fixture_push(&x, mem_alloc(at, 1, i + 1, mem_fixture_stack(&x, name),
						       samples[i]));
	}
	mem_model_end(&x.model);
	if (mem_diff_add(d, side, &x.model))
		abort();
	mem_fixture_done(&x);
}

static struct mem_diff compare(enum mem_per per, const double rate[2], const uint64_t end_ns[2],
			       const uint64_t *before, const uint64_t *after, size_t sites)
{
	struct mem_diff d;
	if (mem_diff_init(&d, per))
		abort();
	add(&d, MEM_DIFF_BEFORE, rate[0], end_ns[0], before, sites);
	add(&d, MEM_DIFF_AFTER, rate[1], end_ns[1], after, sites);
	mem_diff_finish(&d);
	return d;
}

static const struct mem_diff_site *site(const struct mem_diff *d, const char *name)
{
	for (uint32_t i = 0; i < d->sites; i++)
		if (!strcmp(strings_text(d->strings, d->site[i].name), name))
			return &d->site[i];
	return NULL;
}

static const double all[] = {1, 1}, some[] = {0.01, 0.01};
static const uint64_t second[] = {1000000000, 1000000000};

/* No sample is an amount, too: by 4 samples, each of which stands for 100 words, a site may have
 * been there before. */
static void test_none(void)
{
	static const uint64_t before[] = {0, 0, 1000}, after[] = {4, 40, 1000};
	struct mem_diff d = compare(MEM_PER_RUN, some, second, before, after, 3);
	const struct mem_diff_site *few = site(&d, "f0"), *many = site(&d, "f1");
	ok(few && few->difference.is_noise && few->difference.value[MEM_DIFF_BEFORE].high > 0,
	   "a site of few samples that is new may be chance");
	ok(many && !many->difference.is_noise, "one of many is not");
	mem_diff_done(&d);
}

static void test_exact(void)
{
	static const uint64_t before[] = {5, 7, 0, 9}, after[] = {5, 0, 100, 10};
	struct mem_diff d = compare(MEM_PER_RUN, all, second, before, after, 4);
	is(d.sites, 4, "sites of either recording are compared");
	is_str(strings_text(d.strings, d.site[0].name), "f2", "the largest change is first");
	const struct mem_diff_site *s = site(&d, "f2");
	ok(!s->has[MEM_DIFF_BEFORE] && s->has[MEM_DIFF_AFTER], "a site is new");
	is(s->difference.change.bytes, 800, "by all its bytes");
	s = site(&d, "f1");
	ok(s->has[MEM_DIFF_BEFORE] && !s->has[MEM_DIFF_AFTER], "another one is gone");
	ok(s->difference.change.low == -56 && s->difference.change.high == -56,
	   "if each word is sampled, a change is exact");
	ok(!site(&d, "f3")->difference.is_noise, "and no noise, however small");
	ok(site(&d, "f0")->difference.is_noise, "no change is noise");
	is(d.total.change.bytes, 8 * (115 - 21), "the total is that of all sites");
	mem_diff_done(&d);
}

static void test_normalised(void)
{
	static const uint64_t before[] = {10, 30}, after[] = {20, 20},
			      end_ns[] = {1000000000, 4000000000};
	struct mem_diff d = compare(MEM_PER_TIME, all, end_ns, before, after, 2);
	const struct mem_difference *a = &site(&d, "f0")->difference;
	/* The first event is at 0. */
	ok(a->value[0].bytes == 80 && a->value[1].bytes == 40, "bytes of a second");
	ok(a->change.bytes == -40 && a->change.high == -40, "are compared, with their intervals");
	mem_diff_done(&d);
	d = compare(MEM_PER_ALLOC, all, end_ns, before, after, 2);
	a = &site(&d, "f0")->difference;
	ok(a->value[0].bytes == 25 && a->value[1].bytes == 50, "or per cent of all bytes");
	mem_diff_done(&d);
}

static void test_intervals(void)
{
	static const uint64_t before[] = {100, 100, 0, 2, 5}, after[] = {110, 200, 2, 0, 5};
	static const double rates[] = {0.01, 0.1};
	static const uint64_t ten_times[] = {1000, 1000, 30};
	struct mem_diff d = compare(MEM_PER_RUN, some, second, before, after, 5);
	ok(site(&d, "f0")->difference.is_noise, "110 samples after 100 are noise");
	ok(!site(&d, "f1")->difference.is_noise, "200 are a change");
	ok(site(&d, "f2")->difference.is_noise, "2 after none are noise");
	ok(site(&d, "f2")->difference.value[0].high > 0, "as none have an interval, too");
	ok(site(&d, "f3")->difference.is_noise && site(&d, "f3")->difference.value[1].high > 0,
	   "and so are none after 2");
	mem_diff_done(&d);
	d = compare(MEM_PER_RUN, rates, second, before, ten_times, 3);
	ok(site(&d, "f0")->difference.is_noise && fabs(site(&d, "f0")->difference.change.bytes) < 1,
	   "recordings of different rates are compared in bytes");
	mem_diff_done(&d);
}

static uint64_t state = 88172645463325252ull;

/* The samples of so many words. */
static uint64_t draw(double words, double rate)
{
	uint64_t n = 0;
	for (double at = 0;; n++) {
		double u = ((double)(random_next(&state) >> 11) + 1) * 0x1p-53;
		at += 1 + floor(log(u) / log1p(-rate));
		if (at > words)
			return n;
	}
}

/* Of words that do not change, in 12 sites of each of 100 pairs of recordings. */
static void test_coverage(double words)
{
	unsigned changes = 0, sites = 0;
	for (unsigned i = 0; i < 100; i++) {
		uint64_t before[FUNCTIONS], after[FUNCTIONS];
		for (unsigned k = 0; k < FUNCTIONS; k++) {
			before[k] = draw(words, some[0]);
			after[k] = draw(words, some[1]);
		}
		struct mem_diff d = compare(MEM_PER_RUN, some, second, before, after, FUNCTIONS);
		for (uint32_t k = 0; k < d.sites; k++)
			changes += !d.site[k].difference.is_noise;
		sites += d.sites;
		mem_diff_done(&d);
	}
	ok(changes < sites * 7 / 100,
	   "of %.0f samples a side, chance is a change in 5 of 100 cases", words * some[0]);
	diag("%u of %u", changes, sites);
}

int main(void)
{
	test_none();
	test_exact();
	test_normalised();
	test_intervals();
	test_coverage(500);
	test_coverage(20000);
	return tap_done();
}
