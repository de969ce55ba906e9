// SPDX-License-Identifier: BSD-2-Clause
/* The program that samples the allocations of OCaml runtimes, bpf/ocaml_alloc.bpf.c: when a call is
 * a sample, what it stands for, and which of many are taken. */
#include "tests/unit/ocaml_program.h"

#define EMPTIED	  state[20]
#define PROMOTED  state[21]
#define MAJOR	  state[22]
#define ALLOCATED state[24]

/* What the places of the domain and of the large allocations know. */
static struct ocaml_turn *turn_of(uint64_t what)
{
	for (unsigned i = 0; i < 1 << TURN_BITS; i++)
		if (turns[i].key == KEY && turns[i].state == what)
			return &turns[i];
	return &turns[0];
}
#define small_turn() turn_of((uintptr_t)state)
#define large_turn() turn_of(OF_LARGE)

static void test_samples(void)
{
	begin();
	call(&stacks[0], 1);
	ok(!allocate(3, 600), "a call above the trigger is no sample");
	const struct ebt_alloc_record *rec = allocate(3, 510);
	ok(rec && rec->head.site == EBT_ALLOC_SITE_OCAML_MINOR && rec->head.slot == SLOT,
	   "one that reaches it is one");
	ok(rec->arg[0] == 514 && rec->arg[1] == DOMAIN && rec->arg[2] == 3 && rec->arg[3] == 2 &&
		   rec->arg[4] == (53 << 16 | EBT_OCAML_BY_OCAML) && rec->arg[5] == HEAP / 2,
	   "it stands for all words so far; with its domain and words, what was free, and the "
	   "period");
	ok(!allocate(3, 510), "for the same words there is no other sample");
	state[4] = (uintptr_t)heap;
	state[1] = (uintptr_t)heap - 8;
	rec = hit(EBT_OCAML_ALLOC_SMALL, (uintptr_t)state, 3, 0);
	ok(rec && rec->arg[0] == HEAP + 1 - 514 && !(rec->arg[4] & EBT_OCAML_BY_OCAML),
	   "the next one is at the heap's end, of C");
	EMPTIED = HEAP + 400;
	state[4] = (uintptr_t)(heap + HEAP / 2);
	rec = allocate(1, 500);
	ok(rec && rec->arg[0] == 400 + 524 - 1,
	   "a sample stands for all since the last one, in heaps that were emptied, too");
	ok(domain_is.sampled == HEAP + 400 + 524 && domain_is.now == domain_is.sampled,
	   "which are counted as sampled");
	EMPTIED = domain_is.sampled + 500;
	rec = allocate(1, 500);
	ok(rec && rec->arg[0] == 1024 && !runtime->small_rest,
	   "as many as the heap that it was taken in has, at most");
	EMPTIED = domain_is.sampled + 501;
	rec = allocate(1, 500);
	ok(rec && rec->arg[0] == 524 && runtime->small_rest == 501,
	   "where there are more it stands for its own heap, and the words before are in none");
	ok(domain_is.sampled == EMPTIED + 524, "they are no later sample's, either");
	EMPTIED = 0;
	rec = allocate(1, 500);
	ok(rec && rec->arg[0] == 524, "another domain with the same number begins with nothing");
}

/* The runtime's own counts of a domain's large words. */
static void test_large_counts(void)
{
	begin();
	call(&stacks[0], 1);
	MAJOR = 1000;
	allocate(1, 500);
	MAJOR = 3000;
	allocate(1, 500);
	ok(domain && domain->large_first == 1000 && domain->large_now == 3000,
	   "what a domain had allocated before it was known is not counted");
	MAJOR = 100;
	allocate(1, 500);
	is(runtime->large_ended, 2000, "of one whose number another domain has, all is");
	hit(EBT_OCAML_ALLOC_LIFE, TERMINATED, 0, 0);
	is(runtime->large_ended, 2000 + 100, "and of that, from its begin on");
}

static void test_ends(void)
{
	begin();
	EMPTIED = 5000;
	const struct ebt_alloc_record *rec = allocate(1, 500);
	ok(rec && rec->arg[0] == 524 && !runtime->small_rest,
	   "what a program had allocated before it was probed is not counted");
	begin();
	runtime_is.counts_before = 1;
	EMPTIED = 5000;
	rec = allocate(1, 500);
	ok(rec && rec->arg[0] == 524 && runtime->small_rest == 5000,
	   "of one that was begun later it is, but in no sample");
	state[1] = (uintptr_t)(heap + 400);
	hit(EBT_OCAML_ALLOC_LIFE, TERMINATED - 1, 0, 0);
	ok(domain && domain->now == 5624 && domain->sampled == 5524,
	   "a domain that begins is seen");
	EMPTIED = 5700;
	state[1] = (uintptr_t)(heap + HEAP);
	hit(EBT_OCAML_ALLOC_LIFE, TERMINATED, 0, 0);
	ok(!domain && runtime->small_rest == 5000 + 5700 - 5524,
	   "what one that ends has allocated since its last sample is in none");
	begin();
	state[1] = (uintptr_t)(heap + 1000);
	hit(EBT_OCAML_ALLOC_EXIT, 0, 0, 0);
	is(domain_is.now, 24, "at the program's end the last heap counts");
	ok(steps <= DOMAIN + 1 + MAX_ABSENT, "of all domains: %u numbers are looked up", steps);
	EMPTIED = MAX_WORDS;
	ok(!allocate(1, 500) && domain_is.sampled == MAX_WORDS + 524, "no heap is that large");
	begin();
	state[16] = 4096;
	hit(EBT_OCAML_ALLOC_EXIT, 0, 0, 0);
	ok(!domain, "a domain has a number below 4,096");
}

static void test_large(void)
{
	begin();
	const struct ebt_alloc_record *rec = hit(EBT_OCAML_ALLOC_LARGE, 100, 0, 0);
	ok(rec && rec->head.site == EBT_ALLOC_SITE_OCAML_MAJOR && rec->arg[0] == 101 &&
		   rec->arg[1] == DOMAIN && rec->arg[2] == 100 && rec->arg[5] == HEAP / 2,
	   "a large allocation stands for itself, with its header");
	ok(!hit(EBT_OCAML_ALLOC_LARGE, MAX_WORDS, 0, 0), "no object is that large");
	large_turn()->every = 200;
	dice = 101;
	ok(!hit(EBT_OCAML_ALLOC_LARGE, 100, 0, 0), "below a threshold of 200 words it is taken");
	dice = 100;
	rec = hit(EBT_OCAML_ALLOC_LARGE, 100, 0, 0);
	ok(rec && rec->arg[0] == 200 && rec->arg[2] == 100,
	   "in 101 of 200 cases, for the threshold");
	dice = 199;
	rec = hit(EBT_OCAML_ALLOC_LARGE, 199, 0, 0);
	ok(rec && rec->arg[0] == 200, "one that reaches it stands for itself, always");
}

/* So many large allocations of a size each; the words that their samples stand for. */
static uint64_t many_large(int n, uint64_t words, int *ret_records)
{
	uint64_t sum = 0;
	int records = kernel.records;
	for (int i = 0; i < n; i++) {
		dice = dice * 1664525 + 1013904223;
		const struct ebt_alloc_record *rec = hit(EBT_OCAML_ALLOC_LARGE, words, 0, 0);
		sum += rec ? rec->arg[0] : 0;
	}
	*ret_records = kernel.records - records;
	return sum;
}

static void test_many_large(void)
{
	int records;
	begin();
	dice_shift = 8;
	uint64_t words = many_large(USUAL, 9, &records);
	ok(records == USUAL && words == 10 * USUAL && large_turn()->every == MIN_THRESHOLD,
	   "a usual number is taken, each");
	words = many_large(10000, 9, &records);
	ok(records < 500 && large_turn()->every == HEAP / 2, "of more only some: %d of 10,000",
	   records);
	ok(words > 80000 && words < 120000, "which stand for all: %llu", (unsigned long long)words);
	words = many_large(2000, HEAP / 2 - 1, &records);
	ok(records <= MAX_IN_WINDOW && runtime->large_rest > 0 &&
		   words + runtime->large_rest == 2000 * HEAP / 2,
	   "of those that are as large as any threshold some are taken, up to a limit: %d",
	   records);
	uint64_t rest = runtime->large_rest;
	words = many_large(4000, 999, &records);
	ok(records <= 4 * MAX_IN_WINDOW && words + runtime->large_rest - rest == 4000 * 1000,
	   "the words of those beyond a limit are counted: %llu",
	   (unsigned long long)runtime->large_rest);
	now += 2ull * WINDOW_NS;
	many_large(1, 999, &records);
	ok(records == 1 && large_turn()->every == HEAP / 8,
	   "when there were fewer for some time the threshold is lower");
	now += 64ull * WINDOW_NS;
	many_large(1, 999, &records);
	ok(records == 1 && large_turn()->every == 0, "or none");
	dice_shift = 0;
}

static void test_inputs(void)
{
	begin();
	MAJOR = 5000;
	PROMOTED = 4000;
	ok(!hit(EBT_OCAML_ALLOC_READ, 0, 0, 0) && domain && !domain->inputs,
	   "the end of what was begun before it was probed is nothing");
	hit(EBT_OCAML_ALLOC_INPUT, 0, 0, 0);
	ALLOCATED = 700;
	const struct ebt_alloc_record *rec = hit(EBT_OCAML_ALLOC_READ, 0, 0, 0);
	ok(rec && rec->head.site == EBT_ALLOC_SITE_OCAML_MAJOR && rec->arg[0] == 700 &&
		   rec->arg[2] == 699 && runtime->large == 700 && !runtime->inputs,
	   "a marshalled value stands for what the domain has allocated when it was read");
	hit(EBT_OCAML_ALLOC_INPUT, 0, 0, 0);
	MAJOR += 700 + 300;
	ALLOCATED = 0;
	PROMOTED += 300;
	ok(!hit(EBT_OCAML_ALLOC_READ, 0, 0, 0),
	   "a short one for nothing, as what is promoted meanwhile is none of it");
	hit(EBT_OCAML_ALLOC_INPUT, 0, 0, 0);
	rec = hit(EBT_OCAML_ALLOC_LARGE, 399, 0, 0);
	ok(rec && rec->arg[0] == 400, "what another thread allocates is a sample of its own");
	ALLOCATED = 400;
	hit(EBT_OCAML_ALLOC_INPUT, 0, 0, 0);
	ALLOCATED += 1000;
	rec = hit(EBT_OCAML_ALLOC_READ, 0, 0, 0);
	ok(rec && rec->arg[0] == 1000, "as is a value that it reads meanwhile");
	large_turn()->every = HEAP / 2;
	ok(!hit(EBT_OCAML_ALLOC_LARGE, 99, 0, 0), "even where it is not taken,");
	ALLOCATED += 100 + 3000;
	rec = hit(EBT_OCAML_ALLOC_READ, 0, 0, 0);
	ok(rec && rec->arg[0] == 3000 && !runtime->inputs && !domain->inputs,
	   "no part of the value that the first one reads");
	is(runtime->large, 700 + 400 + 1000 + 100 + 3000, "all that was seen is counted");
	is(domain->large_now - domain->large_first, runtime->large, "as the domain counts it");
	hit(EBT_OCAML_ALLOC_INPUT, 0, 0, 0);
	hit(EBT_OCAML_ALLOC_LIFE, TERMINATED, 0, 0);
	ok(!domain && !runtime->inputs && runtime->large_ended == runtime->large,
	   "a domain that ends leaves its count, and reads nothing any more");
}

/* A domain uses up halves of its heap; the words that its samples stand for. */
static uint64_t allocate_halves(int n, int *ret_records)
{
	uint64_t sum = 0;
	int records = kernel.records;
	for (int i = 0; i < n; i++) {
		dice = dice * 1664525 + 1013904223;
		EMPTIED += HEAP / 2;
		const struct ebt_alloc_record *rec = allocate(1, HEAP / 2);
		sum += rec ? rec->arg[0] : 0;
	}
	*ret_records = kernel.records - records;
	return sum;
}

static void test_many_small(void)
{
	int records;
	begin();
	state[4] = (uintptr_t)(heap + HEAP / 2 + 1);
	dice_shift = 8;
	uint64_t words = allocate_halves(USUAL, &records);
	ok(records == USUAL && small_turn()->every == 2,
	   "a usual number of samples is taken, each");
	words += allocate_halves(20000, &records);
	ok(records > USUAL && records < 600, "of more only some: %d of 20,000", records);
	ok(words == domain_is.sampled - HEAP / 2 && domain_is.sampled > 19000 * HEAP / 2,
	   "which stand for all up to the last one");
	ok(!runtime->small_rest, "as no heap was emptied before its half");
	EMPTIED = domain_is.sampled + 100 * HEAP;
	small_turn()->drawn = 3;
	small_turn()->left = 0;
	const struct ebt_alloc_record *rec = allocate(1, HEAP / 2);
	ok(rec && rec->arg[0] == 4 * HEAP / 2 &&
		   runtime->small_rest == 101 * HEAP - HEAP / 2 - 4 * HEAP / 2,
	   "where some were, one after 3 that were skipped stands for 4 halves");
	uint64_t sampled = domain_is.sampled;
	small_turn()->left = 1;
	ok(!allocate(1, 0) && !small_turn()->left && domain_is.sampled == sampled,
	   "those that are skipped are only counted");
	now += 64ull * WINDOW_NS;
	ok(allocate(1, 0) && small_turn()->every == 0 && !small_turn()->left,
	   "when there were few for some time each is taken");
	small_turn()->state++;
	ok(allocate(1, 0) == NULL && small_turn()->state == (uintptr_t)state,
	   "a place that another domain has taken is taken back");
	EMPTIED = domain_is.sampled + 100 * HEAP;
	struct ocaml_turn *turn = small_turn();
	turn->state++;
	turn->drawn = 3;
	rec = allocate(1, HEAP / 2);
	ok(rec && rec->arg[0] == HEAP / 2, "without the heaps that the other one skipped");
	dice_shift = 0;
}

int main(void)
{
	test_large_counts();
	test_samples();
	test_ends();
	test_large();
	test_many_large();
	test_inputs();
	test_many_small();
	return tap_done();
}
