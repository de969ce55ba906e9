// SPDX-License-Identifier: BSD-2-Clause
/* The program that samples the allocations of OCaml runtimes, bpf/ocaml_alloc.bpf.c, as a user
 * program with helpers of our own: when a call is a sample, what it stands for, and how far a stack
 * is walked, also one that a hostile program has made. */
#include "tests/tap.h"
#include "tests/unit/bpf_helpers.h"

#include <stdlib.h>
#include <sys/mman.h>

struct pt_regs {
	uint64_t di, si, dx, ax, ip, r8, r9, r10, cx;
};

struct task_struct {
	uint64_t fsbase;
};

#define __BPF_CORE_READ_H__
#define BPF_CORE_READ(task, field) ((task)->fsbase)

#define KEY    9u
#define SLOT   5u
#define DOMAIN 2u

static struct task_struct thread;
static struct ebt_ocaml_allocs *runtime;
static struct ebt_ocaml_domain *domain;
static uint32_t dice, dice_shift; /* what is drawn at random */
static uint64_t now = 1000000000;
static unsigned steps;

static struct task_struct *bpf_get_current_task_btf(void)
{
	return &thread;
}

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags);

static uint32_t bpf_get_prandom_u32(void)
{
	return dice >> dice_shift;
}

static uint64_t bpf_ktime_get_ns(void)
{
	return now;
}

static long bpf_loop(uint32_t count, long (*fn)(uint32_t, void *), void *ctx, uint64_t flags)
{
	(void)flags;
	for (steps = 0; steps < count; steps++)
		if (fn(steps, ctx))
			break;
	return steps;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "bpf/ocaml_alloc.bpf.c"
#pragma GCC diagnostic pop

static struct ebt_ocaml_domain domain_is;
static uint64_t known[OCAML_KNOWN];

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	if (map == &ebt_ocaml_descriptors)
		return &known[*(const uint32_t *)key];
	if (map == &ebt_ocaml_allocs)
		return *(const uint32_t *)key == KEY ? runtime : NULL;
	return *(const uint64_t *)key == ((uint64_t)KEY << 32 | DOMAIN) ? domain : NULL;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags)
{
	(void)map;
	(void)key;
	(void)flags;
	domain_is = *(const struct ebt_ocaml_domain *)value;
	domain = &domain_is;
	return 0;
}

/* ---- the traced program ---- */

#define HEAP	1024 /* words */
#define WORDS	512  /* of a stack */
#define SLOTS	64
#define CALLS	5 /* functions, and their return addresses */
#define TO_C	5
#define UNKNOWN 6

#define ADDRESS(function) (0x400000 + 8 * (uint64_t)(function))

struct stack {
	uint64_t word[WORDS]; /* stack_info; frames; handler */
	size_t top;	      /* the lowest word in use */
};

static uint64_t heap[HEAP], state[64], link_words[8][3];
static struct stack stacks[3];
static _Alignas(8) uint8_t descriptor[CALLS + 1][16];
static uint64_t table_slots[SLOTS];
static struct {
	uint32_t count, mask;
	uint64_t slots;
} table;
static struct ebt_ocaml_allocs runtime_is;
static uint64_t thread_word;

/* Function i has a frame of i + 1 words. */
static void put_descriptors(void)
{
	for (unsigned i = 0; i <= CALLS; i++) {
		uint64_t address = ADDRESS(i);
		uint16_t bytes = i == TO_C ? 0xffff : (uint16_t)(8 * (i + 1) | 1);
		memcpy(descriptor[i], &address, 8);
		memcpy(descriptor[i] + 8, &bytes, 2);
		uint32_t slot = (uint32_t)(address >> 3) & (SLOTS - 1);
		/* In the second slot: the first one is another's. */
		table_slots[(slot + 8) % SLOTS] = 0;
		table_slots[slot] = (uintptr_t)descriptor[i];
	}
}

static uint64_t at_word(const struct stack *s, size_t i)
{
	return (uintptr_t)&s->word[i];
}

/* An empty stack: what the program has begun, or an effect handler. */
static void begin_stack(struct stack *s, struct stack *parent)
{
	memset(s, 0, sizeof(*s));
	s->word[2] = at_word(s, WORDS - 4);
	s->word[WORDS - 1] = (uintptr_t)parent;
	s->top = WORDS - 4;
}

static void push(struct stack *s, uint64_t word)
{
	s->word[--s->top] = word;
	s->word[0] = at_word(s, s->top);
}

/* OCaml is called by C, or by an effect handler: a header, and the address to return there. */
static void begin_chunk(struct stack *s)
{
	s->top -= 4;
	push(s, ADDRESS(TO_C));
}

/* A function calls: its frame ends with the address to which the next one returns. */
static void call(struct stack *s, unsigned function)
{
	s->top -= function;
	push(s, ADDRESS(function));
}

static void begin(void)
{
	runtime_is = (struct ebt_ocaml_allocs){
		.stacks.frames = (uintptr_t)&table,
		.state = {.tls = EBT_OCAML_TLS_STATIC, .tls_offset = 0, .id_offset = 16 * 8},
		.slot = SLOT,
		.trigger = 32,
		.stacks.current_stack = 40,
		.stacks.c_stack = 64,
		.stacks.first_frame = 8,
		.release = 53,
	};
	runtime = &runtime_is;
	domain = NULL;
	memset(known, 0, sizeof(known));
	dice = UINT32_MAX;
	table.count = CALLS + 1;
	table.mask = SLOTS - 1;
	table.slots = (uintptr_t)table_slots;
	put_descriptors();
	thread_word = (uintptr_t)state;
	thread.fsbase = (uintptr_t)&thread_word;
	memset(state, 0, sizeof(state));
	memset(link_words, 0, sizeof(link_words));
	state[1] = state[3] = (uintptr_t)(heap + HEAP);
	state[2] = (uintptr_t)heap;
	state[4] = (uintptr_t)(heap + HEAP / 2);
	state[5] = (uintptr_t)&stacks[0];
	state[8] = (uintptr_t)link_words[0];
	state[16] = DOMAIN;
	begin_stack(&stacks[0], NULL);
	begin_chunk(&stacks[0]);
}

/* A hit; the record, or NULL. */
static const struct ebt_alloc_record *hit(uint32_t function, uint64_t first, uint64_t second,
					  uint64_t third)
{
	struct pt_regs regs = {.di = first, .si = second, .dx = third};
	int before = kernel.records;
	kernel.cookie = EBT_OCAML_ALLOC_COOKIE(KEY, function);
	ebt_ocaml_alloc(&regs);
	return kernel.records == before + 1 ? (const struct ebt_alloc_record *)kernel.rec : NULL;
}

/* The domain allocates an object of `words` at once, which leaves `left` of its heap. */
static const struct ebt_alloc_record *allocate(uint64_t words, uint64_t left)
{
	state[1] = (uintptr_t)(heap + left);
	return hit(EBT_OCAML_ALLOC_SMALL, (uintptr_t)state, words, 3);
}

/* The stack of a sample as "3 1 0", with a * if it is not whole. */
static const char *walk(void)
{
	static char text[1024];
	size_t n = 0;
	domain = NULL;
	const struct ebt_alloc_record *rec = allocate(1, 0);
	if (!rec)
		return "none";
	const struct ebt_ocaml_frame *frame = (const struct ebt_ocaml_frame *)(rec + 1);
	*text = 0;
	for (size_t i = 0; i < rec->head.size / sizeof(*frame); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d", n ? " " : "",
				      (int)((frame[i].address - 0x400000) / 8));
	if (rec->arg[4] & EBT_OCAML_CUT)
		snprintf(text + n, sizeof(text) - n, "*");
	return text;
}

#define is_walk(wanted, name) ok(!strcmp(walk(), wanted), "%s: %s", name, walk())

static void test_samples(void)
{
	begin();
	call(&stacks[0], 1);
	ok(!allocate(3, 600), "a call above the trigger is no sample");
	const struct ebt_alloc_record *rec = allocate(3, 510);
	ok(rec && rec->head.site == EBT_ALLOC_SITE_OCAML_MINOR && rec->head.slot == SLOT,
	   "one that reaches it is one");
	ok(rec->arg[0] == 1 && rec->arg[1] == DOMAIN && rec->arg[2] == 3 && rec->arg[3] == 2 &&
		   rec->arg[4] == (53 << 16 | EBT_OCAML_BY_OCAML) && rec->arg[5] == HEAP / 2,
	   "with its domain and words, what was free, and the period: half of the heap");
	ok(!allocate(3, 510), "for the same words there is no other sample");
	state[4] = (uintptr_t)heap;
	state[1] = (uintptr_t)heap - 8;
	dice = 510;
	rec = hit(EBT_OCAML_ALLOC_SMALL, (uintptr_t)state, 3, 0);
	ok(rec && rec->arg[0] == 1 && !(rec->arg[4] & EBT_OCAML_BY_OCAML),
	   "the next one is at the heap's end, of C");
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_BYTES, 8 * HEAP, 0);
	is(domain_is.emptied, HEAP, "a collection counts what it has emptied");
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_BYTES, 8 * 400, 0);
	hit(EBT_OCAML_ALLOC_COUNT, 4, 8 * 400, 0);
	state[4] = (uintptr_t)(heap + HEAP / 2);
	rec = allocate(1, 500);
	dice = 0;
	ok(rec && rec->arg[0] == 1, "a sample stands for all since the last one");
	ok(domain_is.sampled == HEAP + 400 + 524 && domain_is.now == domain_is.sampled,
	   "which are counted as sampled");
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_BYTES, 8 * 524, 0);
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_BYTES, 8 * 511, 0);
	rec = allocate(1, 510);
	ok(rec && rec->arg[0] == 3, "at random one more where it is no multiple: 1,025 words");
}

static void test_uncounted(void)
{
	begin();
	dice = 0;
	uint64_t sum = 0;
	for (int i = 0; i < 10; i++) {
		state[4] = (uintptr_t)(heap + HEAP / 2);
		const struct ebt_alloc_record *rec = allocate(1, 512);
		sum += rec ? rec->arg[0] : 0;
		rec = allocate(1, 511);
		sum += rec ? rec->arg[0] : 0;
		state[4] = (uintptr_t)heap + 8;
		rec = allocate(1, 0);
		sum += rec ? rec->arg[0] : 0;
	}
	is(domain_is.sampled, 10 * HEAP, "heaps whose collection is not counted are sampled");
	ok(sum >= 20 && sum <= 30, "all of them");
}

static void test_words(void)
{
	begin();
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_BYTES, 80, 0);
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_WORDS, 10, 0);
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_BYTES, 80, 0);
	is(domain_is.emptied, 20, "a release with both counters is counted once");
	hit(EBT_OCAML_ALLOC_COUNT, COUNTER_WORDS, UINT64_MAX, 0);
	is(domain_is.emptied, 20, "no heap is that large");
	state[1] = (uintptr_t)(heap + 1000);
	hit(EBT_OCAML_ALLOC_EXIT, 0, 0, 0);
	is(domain_is.now, 20 + 24, "at the program's end the last heap counts");
	state[16] = 4096;
	domain = NULL;
	hit(EBT_OCAML_ALLOC_EXIT, 0, 0, 0);
	ok(!domain, "a domain has a number below 4,096");
}

static void test_large(void)
{
	begin();
	dice = 101;
	ok(!hit(EBT_OCAML_ALLOC_LARGE, 100, 0, 0), "101 words of 512 are a sample in 101 of 512");
	dice = 100;
	const struct ebt_alloc_record *rec = hit(EBT_OCAML_ALLOC_LARGE, 100, 0, 0);
	ok(rec && rec->head.site == EBT_ALLOC_SITE_OCAML_MAJOR && rec->arg[0] == 1 &&
		   rec->arg[2] == 100,
	   "cases");
	rec = hit(EBT_OCAML_ALLOC_LARGE, 10 * 512 - 1, 0, 0);
	ok(rec && rec->arg[0] == 10, "more are more samples");
	ok(!hit(EBT_OCAML_ALLOC_LARGE, UINT64_MAX, 0, 0), "no object is that large");
}

/* So many large allocations of a period each; the samples that there are of them. */
static uint64_t allocate_large(int n, int *ret_records)
{
	uint64_t samples = 0;
	int records = kernel.records;
	for (int i = 0; i < n; i++) {
		dice = dice * 1664525 + 1013904223;
		const struct ebt_alloc_record *rec = hit(EBT_OCAML_ALLOC_LARGE, 511, 0, 0);
		samples += rec ? rec->arg[0] : 0;
	}
	*ret_records = kernel.records - records;
	return samples;
}

static void test_many(void)
{
	int records;
	begin();
	dice_shift = 16;
	allocate_large(USUAL, &records);
	ok(records == USUAL && domain_is.every == 2, "a usual number is taken, each");
	uint64_t samples = allocate_large(10000, &records);
	ok(records < 500 && domain_is.every == MAX_EVERY, "of more only some: %d of 10,000",
	   records);
	ok(samples > 9000 && samples < 11000, "which stand for all: %llu",
	   (unsigned long long)samples);
	samples += allocate_large(90000, &records) + domain_is.large_rest / 512;
	ok(domain_is.in_window == MAX_IN_WINDOW && domain_is.large_rest > 100 * 512 &&
		   samples > 90000 && samples < 110000,
	   "the words of those beyond a limit are counted: %llu", (unsigned long long)samples);
	now += 3ull * WINDOW_NS;
	allocate_large(100, &records);
	ok(records > 4 && records < 30 && domain_is.every == MAX_EVERY / 8,
	   "when there were fewer for some time more are taken: %d of 100", records);
	state[4] = (uintptr_t)(heap + HEAP / 2);
	domain_is.every = MAX_EVERY;
	domain_is.in_window = MAX_IN_WINDOW;
	dice = MAX_EVERY << dice_shift;
	ok(!allocate(1, 511) && domain_is.small_rest == 512 * MAX_EVERY,
	   "likewise of the minor heap");
	dice_shift = 0;
}

static void test_walks(void)
{
	begin();
	call(&stacks[0], 2);
	call(&stacks[0], 0);
	call(&stacks[0], 3);
	is_walk("3 0 2", "up to the program's start");
	begin();
	call(&stacks[0], 1);
	begin_chunk(&stacks[0]);
	call(&stacks[0], 2);
	state[8] = (uintptr_t)link_words[1];
	link_words[1][2] = (uintptr_t)link_words[0];
	is_walk("2 1", "below a callback from C it goes on");
	const struct ocaml_walk *w =
		(const void *)((const struct ebt_alloc_record *)kernel.rec + 1);
	ok(w->callbacks == 1 && w->callback[0].link == state[8] && w->callback[0].frames == 1 &&
		   w->callback[0].outer == link_words[1][2],
	   "which is noted");
	begin();
	call(&stacks[0], 1);
	begin_stack(&stacks[1], &stacks[0]);
	begin_chunk(&stacks[1]);
	call(&stacks[1], 4);
	state[5] = (uintptr_t)&stacks[1];
	is_walk("4 1", "an effect handler's stack, and that below it");
	stacks[1].word[WORDS - 1] = 0;
	is_walk("4", "without that it ends");
	state[8] = (uintptr_t)link_words[1];
	link_words[1][2] = (uintptr_t)link_words[0];
	is_walk("4*", "but not while C that OCaml has called runs OCaml");
	begin();
	runtime_is.stacks.first_frame = 16;
	call(&stacks[0], 2);
	push(&stacks[0], 0x1234);
	is_walk("2", "with frame pointers");
}

static void test_known(void)
{
	begin();
	call(&stacks[0], 2);
	is_walk("2", "a stack is walked");
	memset(table_slots, 0, sizeof(table_slots));
	is_walk("2", "and again by what is known of its descriptors");
	begin();
	call(&stacks[0], 2);
	for (unsigned i = 0; i < OCAML_KNOWN; i++)
		known[i] = i % 2 ? (uintptr_t)descriptor[1] : 8;
	is_walk("2", "what is known of another's, or cannot be read, is not used");
}

/* Behind the stack nothing can be read. */
static void test_end(void)
{
	static const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct stack *s = mmap(NULL, sizeof(*s), prot, flags, -1, 0);
	unsigned whole = 0;
	begin();
	kernel.low = 4096;
	kernel.high = (uintptr_t)(s + 1);
	begin_stack(s, NULL);
	begin_chunk(s);
	state[5] = (uintptr_t)s;
	for (unsigned i = 1; i <= 2 * OCAML_AHEAD; i++) {
		call(s, 0);
		whole += strlen(walk()) == 2 * i - 1;
	}
	is(whole, 2 * OCAML_AHEAD, "a stack is read up to its end");
	kernel.low = kernel.high = 0;
	munmap(s, sizeof(*s));
}

static void test_hostile(void)
{
	begin();
	call(&stacks[0], 2);
	call(&stacks[0], UNKNOWN);
	is_walk("*", "an address without a descriptor ends it");
	begin();
	call(&stacks[0], 1);
	stacks[0].word[0] += 4;
	is_walk("*", "so does a stack that is not aligned");
	begin();
	call(&stacks[0], 1);
	stacks[0].word[2] = at_word(&stacks[0], WORDS - 8);
	is_walk("1*", "one that leaves its bounds");
	begin();
	call(&stacks[0], 1);
	memset(descriptor[1] + 8, 0, 2);
	is_walk("1*", "a frame without words");
	begin();
	call(&stacks[0], 1);
	stacks[0].word[WORDS - 1] = (uintptr_t)&stacks[0];
	walk();
	ok(steps <= OCAML_STEPS && strlen(walk()) >= 2 * EBT_OCAML_FRAMES &&
		   walk()[strlen(walk()) - 1] == '*',
	   "a circle of stacks, in %u steps", steps);
	begin();
	for (int i = 0; i < 200; i++)
		call(&stacks[0], 0);
	ok(strlen(walk()) == 2 * EBT_OCAML_FRAMES, "a stack has %d frames at most",
	   EBT_OCAML_FRAMES);
	begin();
	call(&stacks[0], 1);
	for (unsigned i = 0; i < SLOTS; i++)
		table_slots[i] = (uintptr_t)descriptor[2];
	is_walk("*", "a table that is full of others");
	ok(steps <= OCAML_PROBES, "in %u steps", steps);
	memset(table_slots, 0, sizeof(table_slots));
	begin();
	table.slots = 0;
	is_walk("*", "no table");
	begin();
	table.mask = UINT32_MAX;
	is_walk("*", "a table without an end");
	begin();
	state[5] = 8;
	is_walk("*", "memory that cannot be read");
}

int main(void)
{
	test_samples();
	test_uncounted();
	test_words();
	test_large();
	test_many();
	test_walks();
	test_known();
	test_end();
	test_hostile();
	return tap_done();
}
