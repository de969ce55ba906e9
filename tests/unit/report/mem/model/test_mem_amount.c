/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates of bytes and objects, and their intervals, against what was drawn; sums of them. */
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#include <math.h>

/* The number of samples of n words. */
static uint64_t draw(uint64_t *state, uint64_t n, double rate)
{
	uint64_t samples = 0;
	double at = 0;
	while (at < (double)n) {
		double u = ((double)(random_next(state) >> 11) + 1) * 0x1p-53;
		at += floor(log(u) / log1p(-rate)) + 1;
		samples += at <= (double)n;
	}
	return samples;
}

static void test_intervals(void)
{
	static const struct {
		uint64_t words;
		double rate;
	} row[] = {{100, 0.01}, {300, 0.01}, {1000, 0.01},    {20000, 0.01},
		   {5, 0.5},	{400, 0.5},  {1000000, 1e-6}, {100000000, 1e-6}};
	uint64_t state = 99;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		int held = 0, runs = 2000;
		for (int k = 0; k < runs; k++) {
			uint64_t samples = draw(&state, row[i].words, row[i].rate);
			struct mem_amount a = mem_words(samples, row[i].rate);
			double words = (double)row[i].words;
			/* A whole number of words. */
			held += floor(a.low) <= words && words <= ceil(a.high);
		}
		ok(held >= runs * 94 / 100,
		   "of %llu words sampled at %g the interval holds the truth: %d of %d times",
		   (unsigned long long)row[i].words, row[i].rate, held, runs);
	}
	struct mem_amount none = mem_words(0, 1e-6), all = mem_words(1000, 1);
	ok(none.bytes == 0 && none.low == 0 && fabs(none.high - 3.69e6) < 1e4,
	   "0 samples leave at most 3.7 times as many words as there are to a sample");
	ok(all.bytes == 1000 && all.low == 1000 && all.high == 1000, "at rate 1 it is exact");
	struct mem_amount exact = mem_words(MEM_EXACT_SAMPLES, 0.01),
			  score = mem_words(MEM_EXACT_SAMPLES + 1, 0.01);
	ok(exact.low < score.low && exact.high < score.high &&
		   score.high / score.low < 1.02 * exact.high / exact.low,
	   "the two kinds of interval meet");
}

static void test_sums(void)
{
	static const struct mem_scale fine = {.rate = 1, .word_bytes = 8},
				      coarse = {.rate = 0.01, .word_bytes = 8},
				      other = {.rate = 0.001, .word_bytes = 4};
	struct mem_sum s = {0}, t = {0};
	struct mem_amount a = mem_sum_amount(&s);
	ok(a.bytes == 0 && a.high == 0, "an empty sum is exactly 0");
	mem_sum_add(&s, &fine, 1000);
	a = mem_sum_amount(&s);
	ok(a.bytes == 8000 && a.low == 8000 && a.high == 8000, "a sum at rate 1 is exact");
	mem_sum_add(&s, &coarse, 60);
	mem_sum_add(&s, &coarse, 40);
	a = mem_sum_amount(&s);
	struct mem_amount b = mem_words(100, 0.01);
	ok(fabs(a.bytes - 88000) < 1 && fabs(a.low - 8000 - 8 * b.low) < 1 &&
		   fabs(a.high - 8000 - 8 * b.high) < 1,
	   "the interval of a sum is that of its uncertain part");
	for (int i = 0; i < 100; i++)
		mem_sum_add(&t, &other, 1);
	mem_sum_add(&s, &other, 100);
	a = mem_sum_amount(&s);
	b = mem_sum_amount(&t);
	ok(fabs(a.bytes - 488000) < 1 && a.high - a.bytes > b.high - b.bytes &&
		   a.high - a.bytes < 1.1 * (b.high - b.bytes),
	   "the widths of a sum's intervals add up as squares");
	mem_sum_merge(&t, &s);
	ok(fabs(mem_sum_bytes(&t) - 888000) < 1, "sums are added up");
	/* More scales than a sum keeps apart. */
	struct mem_sum many = {0}, merged = {0}, first = {0};
	for (unsigned i = 1; i <= 4 * MEM_SUM_PARTS; i++) {
		struct mem_scale scale = {.rate = 0.01 / i, .word_bytes = 8};
		mem_sum_add(i % 2 ? &first : &merged, &scale, 50);
		mem_sum_add(&many, &scale, 50);
	}
	mem_sum_merge(&merged, &first);
	a = mem_sum_amount(&many);
	b = mem_sum_amount(&merged);
	ok(fabs(a.bytes / b.bytes - 1) < 1e-9 && fabs(a.low / b.low - 1) < 1e-9 &&
		   fabs(a.high / b.high - 1) < 1e-9,
	   "a sum of sums of any scales has the interval of all");
	mem_sum_add(&t, &fine, UINT64_MAX);
	mem_sum_add(&t, &fine, UINT64_MAX);
	ok(mem_sum_bytes(&t) >= 0x1p67, "a sum that is too large stays large");
}

#define OBJECTS	    100000
#define OBJECT_RATE 0.01

/* parameters: of the trace; header: the words that are sampled beside an object's own. */
static void check_objects(const char *parameters, uint64_t header, uint64_t seed)
{
	struct mem_fixture x;
	struct mem_sites t;
	double variance = 0;
	mem_fixture_begin(&x, OBJECT_RATE, &(struct mem_options){.needs = MEM_FATES});
	processes_announce(&x.session->processes, 1)->alloc_trace.parameters =
		strings_put(x.session->strings, parameters, strlen(parameters));
	uint32_t stack = mem_fixture_stack(&x, "ab");
	for (uint64_t i = 0; i < OBJECTS; i++) {
		/* Most are small, as those of programs are. */
		uint64_t words = 1 + random_next(&seed) % (i % 50 ? 8 : 400);
		uint64_t samples = draw(&seed, words + header, OBJECT_RATE);
		variance += (1 - OBJECT_RATE) / (OBJECT_RATE * (double)(words + header));
		struct ebt_event ev = mem_alloc(i, 1, i, stack, samples);
		ev.sarg[1] = (int64_t)words;
		if (samples)
			mem_fixture_push(&x, ev);
		ev.kind = EBT_COLLECT;
		if (samples && i % 2)
			mem_fixture_push(&x, ev);
	}
	mem_model_end(&x.model);
	int err = mem_model_sites(&t, &x.model, mem_pick_alloc);
	ok(!err && fabs(t.all.objects - OBJECTS) < 3 * sqrt(variance),
	   "'%s': %.0f objects are estimated, of %d", parameters, t.all.objects, OBJECTS);
	mem_sites_done(&t);
	err = mem_model_sites(&t, &x.model, mem_pick_live);
	ok(!err && fabs(t.all.objects - OBJECTS / 2) < 3 * sqrt(variance / 2),
	   "'%s': and %.0f that are alive, of %d", parameters, t.all.objects, OBJECTS / 2);
	mem_sites_done(&t);
	mem_fixture_done(&x);
}

static void test_objects(void)
{
	check_objects("", 0, 1);
	check_objects("b=0,s=262144", 1, 2);
}

/* Allocations of 1000 samples of a word each, of objects of 10 words. */
static struct mem_measure measure_weights(bool known, double given_rate)
{
	struct mem_fixture x;
	struct mem_sites t;
	mem_fixture_begin(&x, 1, &(struct mem_options){.rate = given_rate});
	struct alloc_trace *trace = &processes_announce(&x.session->processes, 1)->alloc_trace;
	trace->known = known;
	trace->parameters =
		strings_put(x.session->strings, ALLOC_TRACE_WEIGHTS, strlen(ALLOC_TRACE_WEIGHTS));
	for (uint64_t i = 0; i < 5; i++) {
		struct ebt_event ev = mem_alloc(i, 1, i, mem_fixture_stack(&x, "a"), 1000);
		ev.sarg[1] = 10;
		mem_fixture_push(&x, ev);
	}
	mem_model_end(&x.model);
	if (mem_model_sites(&t, &x.model, mem_pick_alloc))
		abort();
	struct mem_measure m = t.all;
	strings_drop(x.session->strings, known ? 0 : trace->parameters);
	mem_sites_done(&t);
	mem_fixture_done(&x);
	return m;
}

static void test_weights(void)
{
	struct mem_measure m = measure_weights(true, 0);
	struct mem_amount a = mem_sum_amount(&m.sum), b = mem_words(50, 0.01);
	ok(a.bytes == 40000 && isnan(a.low) && isnan(a.high),
	   "weights are an estimate, whose interval is not known");
	ok(m.objects == 500, "of bytes and of objects");
	m = measure_weights(true, 0.01);
	a = mem_sum_amount(&m.sum);
	ok(a.bytes == 40000 && m.objects == 500 && fabs(a.low - 8 * b.low) < 1e-6 &&
		   fabs(a.high - 8 * b.high) < 1e-6,
	   "with a rate it is that of the samples that the weights are of");
	m = measure_weights(false, 0);
	a = mem_sum_amount(&m.sum);
	ok(a.bytes == 40000 && isnan(a.low), "a sample of an unknown rate counts as a word");
	m = measure_weights(false, 0.01);
	a = mem_sum_amount(&m.sum);
	ok(a.bytes == 4e6 && a.low < a.bytes && a.bytes < a.high && m.objects == 50000,
	   "the rate that is given is that of such samples");
}

/* 400 samples of a period of 1000 words: of small objects eight at once, of a large one, and words
 * that none of them stands for. Or the words themselves, of which the large object has one more. */
static void test_periodic(const char *parameters, bool words)
{
	struct mem_fixture x;
	struct mem_sites t;
	mem_fixture_begin(&x, 1, &(struct mem_options){0});
	struct alloc_trace *trace = &processes_announce(&x.session->processes, 1)->alloc_trace;
	trace->known = true;
	trace->sample_rate = 0.001;
	trace->parameters = strings_put(x.session->strings, parameters, strlen(parameters));
	for (uint64_t i = 0; i < 26; i++) {
		uint64_t samples = i == 25 ? 140 : i == 24 ? 68 : 8;
		if (words)
			samples = samples * 1000 + (i == 24);
		struct ebt_event ev = mem_alloc(i, 1, i, mem_fixture_stack(&x, "a"), samples);
		ev.sarg[1] = i == 25 ? 0 : i == 24 ? 68000 : 10;
		ev.id = i == 24 ? EBT_ALLOC_MAJOR : EBT_ALLOC_MINOR;
		mem_fixture_push(&x, ev);
	}
	mem_model_end(&x.model);
	const struct mem_scale *scale = &x.model.first->scale;
	ok(scale->each == 8 && mem_scale_between(scale) == 8000,
	   "%s: of samples that are taken together there is one for as many words: %g", parameters,
	   scale->each);
	if (mem_model_sites(&t, &x.model, mem_pick_alloc))
		abort();
	struct mem_amount a = mem_sum_amount(&t.all.sum);
	struct mem_amount b = mem_words(words ? 24 : 50, 0.001 / 8);
	double counted = words ? 208001 : 0;
	ok(a.bytes == 8 * (400e3 + words) && fabs(a.low - 8 * (b.low + counted)) < 1 &&
		   fabs(a.high - 8 * (b.high + counted)) < 1,
	   words ? "of an object that stands for itself, and of words that were counted, there is "
		   "no doubt"
		 : "with the interval of as few");
	mem_sites_done(&t);
	mem_fixture_done(&x);
}

int main(void)
{
	test_intervals();
	test_sums();
	test_objects();
	test_weights();
	test_periodic(ALLOC_TRACE_PERIODIC "ocaml", false);
	test_periodic(ALLOC_TRACE_PERIODIC "ocaml" ALLOC_TRACE_WORDS, true);
	return tap_done();
}
