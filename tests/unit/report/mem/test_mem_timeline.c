/* SPDX-License-Identifier: BSD-2-Clause */
/* Live bytes over time, by site and by lifetime, against what is computed of all events. */
#include "report/mem/model/bands.h"
#include "report/mem/model/choice.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#include <math.h>

#define EVENTS 6000
#define SITES  5
#define BYTES  (8 / 0.25) /* of a sample */

/* An object, from its allocation to its end. */
struct life {
	uint64_t from, to, samples; /* to: UINT64_MAX if it is alive at the end */
	unsigned site;
};

struct story {
	struct ebt_event ev[EVENTS];
	struct life life[EVENTS];
	uint32_t lives;
	uint64_t end;
};

/* Objects of random lengths; from time to time nothing happens for long. */
static void invent(struct story *s, struct mem_fixture *x, uint64_t seed)
{
	uint64_t ns = 1000;
	s->lives = 0;
	for (uint32_t i = 0; i < EVENTS; i++) {
		ns += random_next(&seed) % (i % 1000 ? 4000 : 40000000);
		uint64_t k = s->lives ? random_next(&seed) % s->lives : 0;
		if (s->lives && random_next(&seed) % 2 && s->life[k].to == UINT64_MAX) {
			s->life[k].to = ns;
			s->ev[i] = (struct ebt_event){
				.ts = ns, .kind = EBT_COLLECT, .process = 1, .arg = {k}};
			continue;
		}
		char stack[] = {'a', (char)('b' + random_next(&seed) % SITES), 0};
		struct life made = {ns, UINT64_MAX, 1 + random_next(&seed) % 7,
				    (unsigned)(stack[1] - 'a')};
		s->ev[i] = mem_alloc(ns, 1, s->lives, mem_fixture_stack(x, stack), made.samples);
		s->life[s->lives++] = made;
	}
	s->end = ns;
}

/* Bytes of a site (0: of all) that are alive behind a moment, of objects that live that long. */
static double alive(const struct story *s, unsigned site, uint64_t ns, const struct mem_range *r)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < s->lives; i++) {
		const struct life *l = &s->life[i];
		uint64_t to = l->to < s->end ? l->to : s->end;
		if ((site && site != l->site) || l->from >= ns || l->to < ns ||
		    !mem_range_has(r, (double)(to - l->from)))
			continue;
		samples += l->samples;
	}
	return (double)samples * BYTES;
}

/* Every 7th bucket, and the last one. */
static bool is_story(const struct mem_model *m, const struct story *s, const struct mem_range *r)
{
	const struct mem_timeline *t = m->timeline;
	bool same = t->count > MEM_TIMELINE_POINTS / 2 && m->bands->bands == SITES;
	uint32_t at[SITES] = {0};
	for (uint32_t i = 0; i < t->count && same; i++) {
		uint64_t end = t->begin_ns + (i + 1) * t->width_ns;
		double sum = 0;
		for (uint32_t k = 0; k < SITES; k++) {
			const struct mem_band *b = &m->bands->band[k];
			uint32_t name = m->bands->sites.function[b->site].name;
			unsigned site = (unsigned)atoi(strings_text(m->session->strings, name) + 1);
			double live = mem_band_live(b, i, &at[k]);
			sum += live;
			if (i % 7 == 0 || i + 1 == t->count)
				same &= fabs(live - alive(s, site, end, r)) < 1;
		}
		same &= fabs(sum - t->point[i].live) < 1;
	}
	return same;
}

static bool is_sorted(const struct mem_bands *b)
{
	for (uint32_t i = 1; i < b->bands; i++)
		if (b->band[i - 1].most < b->band[i].most)
			return false;
	return true;
}

/* Buckets of one moment become one, however often their length has doubled. */
static void test_doubled(void)
{
	static const uint32_t halvings[] = {1, 2, 31, 32, 33, 63, 64};
	for (size_t i = 0; i < sizeof(halvings) / sizeof(*halvings); i++) {
		static struct mem_timeline t;
		struct mem_fixture x;
		mem_fixture_begin(&x, 1, &(struct mem_options){0});
		struct mem_bands *b = mem_bands_new(x.session, &(struct mem_wrappers){0});
		uint32_t number = b ? mem_bands_of(b, mem_fixture_stack(&x, "ab")) : 0, at = 0;
		t = (struct mem_timeline){.count = 1000};
		if (!number || mem_bands_change(b, number, &t, 10))
			abort();
		t.halvings = halvings[i];
		t.count = 1024;
		if (mem_bands_change(b, number, &t, 5))
			abort();
		const struct mem_band *band = &b->band[number - 1];
		ok(band->steps == 2 &&
			   band->step[0].bucket ==
				   (999ull >> halvings[i] / 2) >> (halvings[i] + 1) / 2 &&
			   mem_band_live(band, 1022, &at) == 10 && band->live == 15,
		   "after %u doublings it is bucket %u", halvings[i], band->step[0].bucket);
		mem_bands_free(b);
		mem_fixture_done(&x);
	}
}

static void run(struct mem_fixture *x, const struct story *s)
{
	if (mem_model_events(&x->model, s->ev, EVENTS) || mem_model_end(&x->model))
		abort();
}

static void test_bands(void)
{
	static struct story s;
	static const struct mem_range any = {0, INFINITY};
	struct mem_fixture x;
	mem_fixture_begin(&x, 0.25, &(struct mem_options){.needs = MEM_TIMELINE | MEM_BANDS});
	invent(&s, &x, 5);
	run(&x, &s);
	ok(is_story(&x.model, &s, &any), "the bands of all sites are what is alive of them");
	ok(is_sorted(x.model.bands), "those with the most bytes first");
	double allocated = 0, collected = 0;
	for (uint32_t i = 0; i < x.model.timeline->count; i++) {
		allocated += x.model.timeline->point[i].allocated;
		collected += x.model.timeline->point[i].collected;
	}
	ok(fabs(allocated - collected - x.model.timeline->live) < 1 && collected > 0,
	   "what was allocated was collected, or is alive");
	mem_fixture_done(&x);
}

static void test_lifetimes(void)
{
	static struct story s;
	struct mem_filter f;
	struct mem_choice choice = {0};
	struct mem_options o = {.needs = MEM_CHOICE, .filter = &f, .choice = &choice};
	struct mem_fixture x;
	mem_filter_init(&f);
	f.by_lifetime = true;
	f.lifetime_ns = (struct mem_range){100000, 1e7};
	mem_fixture_begin(&x, 0.25, &o);
	invent(&s, &x, 6);
	run(&x, &s);
	mem_fixture_done(&x);
	uint32_t chosen = 0;
	for (uint32_t i = 0; i < s.lives; i++)
		chosen += mem_choice_has(&choice, i);
	ok(chosen && chosen < s.lives && !mem_choice_has(&choice, UINT64_MAX),
	   "a run chooses %u of %u objects by their lifetimes", chosen, s.lives);
	o.needs = MEM_TIMELINE | MEM_BANDS;
	mem_fixture_begin(&x, 0.25, &o);
	invent(&s, &x, 6);
	run(&x, &s);
	ok(is_story(&x.model, &s, &f.lifetime_ns), "another run has the timeline of these alone");
	is(x.model.alloc.objects, chosen, "and counts them");
	mem_fixture_done(&x);
	mem_choice_done(&choice);
	o.choice = NULL;
	mem_fixture_begin(&x, 0.25, &o);
	ok(!x.model.timeline && !x.model.bands, "without a choice there is no timeline");
	mem_fixture_done(&x);
}

static void test_ids(void)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, 0.25, &(struct mem_options){.needs = MEM_TIMELINE | MEM_BANDS});
	mem_fixture_push(&x, mem_alloc(1, 1, 1, mem_fixture_stack(&x, "a"), 4));
	mem_fixture_push(&x, mem_alloc(2, 1, 1, mem_fixture_stack(&x, "b"), 1));
	mem_fixture_push(
		&x, (struct ebt_event){.ts = 3, .kind = EBT_PROMOTE, .process = 1, .arg = {1}});
	mem_fixture_push(
		&x, (struct ebt_event){.ts = 3, .kind = EBT_PROMOTE, .process = 1, .arg = {1}});
	mem_model_end(&x.model);
	const struct mem_point *p = &x.model.timeline->point[0];
	ok(p->live == BYTES && p->collected == 4 * BYTES && p->max == 4 * BYTES,
	   "an id that comes again is another object, the one before it is gone");
	ok(p->promoted == BYTES, "an object is promoted once");
	mem_fixture_done(&x);
}

int main(void)
{
	test_bands();
	test_doubled();
	test_lifetimes();
	test_ids();
	return tap_done();
}
