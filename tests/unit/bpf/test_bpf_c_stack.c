// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks of C on their way from the memory of a program (bpf/c_stack.bpf.h) to addresses
 * (elf/unwind.h). Stacks are made of functions with a frame pointer, without one, and with another
 * value in its register, with junk between that looks like both; what comes out is what was made,
 * as far as it goes.
 */
#include "tests/tap.h"
#include "tests/unit/bpf_helpers.h"

#include <stdlib.h>

#include "tests/random.h"

struct pt_regs {
	uint64_t di, si, dx, r10, cx, r8, r9, ip, sp, bp, ax;
};

static long bpf_loop(uint32_t count, long (*fn)(uint32_t, void *), void *ctx, uint64_t flags)
{
	uint32_t i = 0;
	(void)flags;
	while (i < count && !fn(i, ctx))
		i++;
	return i;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "bpf/stacks.bpf.h"
#pragma GCC diagnostic pop

#include "source/stacks/c_stack.h"

#define WORDS 16384u
#define MANY  1000u /* stacks */

/* A function is known by its address: its kind, and the words of its frame. */
enum kind { FP, SAME, OTHER, BARE, START, KINDS };
#define CODE(kind, words) (0x400000u + (kind)*0x1000u + (words))
#define CODE_END	  CODE(KINDS, 0)

static uint64_t memory[WORDS] __attribute__((aligned(4096)));
static uint64_t state = 42;
static struct c_stack_walk walk; /* of the last record */
static uint64_t made[256], got[CODE_STACK_MAX];
static size_t frames;
static struct pt_regs regs;

static bool is_valid(void *ctx, uint64_t address, bool is_innermost)
{
	(void)ctx;
	(void)is_innermost;
	return address >= CODE(0, 0) && address < CODE_END;
}

static struct unwind_rule rule_at(void *ctx, uint64_t address, bool is_innermost)
{
	int32_t words = (int32_t)(address & 0xfff);
	(void)ctx;
	(void)is_innermost;
	switch ((enum kind)((address - CODE(0, 0)) >> 12)) {
	case FP:
		return (struct unwind_rule){
			.cfa = 16, .pc = -8, .fp = -16, .kind = UNWIND_BY_FP, .has_fp = true};
	case SAME:
		return (struct unwind_rule){.cfa = 8 + 8 * words, .pc = -8, .kind = UNWIND_BY_SP};
	case OTHER:
		return (struct unwind_rule){.cfa = 16 + 8 * words,
					    .pc = -8,
					    .fp = -16,
					    .kind = UNWIND_BY_SP,
					    .has_fp = true};
	case START:
		return (struct unwind_rule){.kind = UNWIND_OUTERMOST};
	default:
		return (struct unwind_rule){.kind = UNWIND_UNKNOWN};
	}
}

static uint64_t random_below(uint64_t n)
{
	return random_next(&state) % n;
}

static uint64_t junk(void)
{
	switch (random_below(4)) {
	case 0:
		return (uint64_t)&memory[random_below(WORDS)];
	case 1:
		return CODE(random_below(START), random_below(20));
	case 2:
		return 0;
	}
	return random_next(&state);
}

/* A stack of `count` functions of kinds that are allowed, each with up to `most` words; it ends at
 * the start, or at a frame pointer of 0. */
static void make(size_t count, unsigned kinds, unsigned most)
{
	size_t at = WORDS - 1 - random_below(200);
	uint64_t fp = 0, pc = CODE(kinds & 1u << BARE ? BARE : START, 0);
	for (size_t i = 0; i < WORDS; i++)
		memory[i] = junk();
	frames = 0;
	made[frames++] = pc;
	while (frames < count) {
		enum kind kind = random_below(START);
		uint64_t words = random_below(most);
		if (!(kinds & 1u << kind) || (frames == 1 && kinds & 1u << BARE && kind > FP))
			continue;
		pc = CODE(kind, words);
		memory[--at] = made[frames - 1];
		if (kind != SAME) {
			memory[--at] = fp;
			fp = kind == OTHER ? junk() : (uint64_t)&memory[at];
		}
		at -= words;
		made[frames++] = pc;
	}
	regs = (struct pt_regs){.ip = pc, .sp = (uint64_t)&memory[at], .bp = fp};
}

static size_t unwind_it(enum unwind_end *ret_end)
{
	struct unwind_code code = {is_valid, rule_at, NULL};
	kernel.low = (uintptr_t)memory;
	kernel.high = (uintptr_t)(memory + WORDS);
	stack_emit_c(&regs, 1, 2);
	const struct ebt_stack_record *rec = (const void *)kernel.rec;
	if (rec->head.size != sizeof(walk))
		abort();
	memcpy(&walk, rec + 1, sizeof(walk));
	struct unwind_image image = c_stack_image(&walk.memory, &walk.links);
	return unwind(&image, &code, got, CODE_STACK_MAX - 1, ret_end);
}

/* The number of frames that are as they were made, from the innermost on. */
static size_t right(size_t n)
{
	size_t i = 0;
	while (i < n && i < frames && got[i] == made[frames - 1 - i])
		i++;
	return i;
}

static void test_whole(void)
{
	enum unwind_end end;
	unsigned good = 0, bare = 0, all = 0;
	for (unsigned i = 0; i < MANY; i++) {
		make(2 + random_below(100), 1u << FP, 40);
		size_t n = unwind_it(&end);
		good += end == UNWIND_WHOLE && n == frames && right(n) == n;
		make(2 + random_below(100), 1u << FP | 1u << BARE, 40);
		n = unwind_it(&end);
		bare += end == UNWIND_WHOLE && n == frames && right(n) == n;
		make(2 + random_below(10), 1u << FP | 1u << SAME | 1u << OTHER, 10);
		n = unwind_it(&end);
		all += end == UNWIND_WHOLE && n == frames && right(n) == n;
	}
	is(good, MANY, "a stack of functions with frame pointers is whole, however deep");
	is(bare, MANY, "also if some have no unwind information, up to a frame pointer of 0");
	is(all, MANY, "one of any functions is whole if it was copied");
}

/* Frames before a gap are right; those behind it lead to the end. */
static void test_cut(void)
{
	enum unwind_end end;
	unsigned garbage = 0, whole = 0, cut = 0, gaps = 0, short_of = 0;
	for (unsigned i = 0; i < MANY; i++) {
		make(2 + random_below(60), 1u << FP | 1u << SAME | 1u << OTHER, 100);
		size_t n = unwind_it(&end), first = right(n);
		bool gap = first < n && got[first] == UNWIND_GAP;
		garbage += first < n && !gap;
		garbage += gap && (end != UNWIND_WHOLE || got[n - 1] != made[0]);
		whole += end == UNWIND_WHOLE && !gap;
		short_of += end == UNWIND_WHOLE && !gap && n != frames;
		cut += end == UNWIND_CUT;
		gaps += gap;
	}
	diag("%u whole, %u cut, %u with gaps", whole, cut, gaps);
	is(garbage, 0, "of others no frame is wrong");
	is(short_of, 0, "one that is said to be whole is");
	ok(whole && cut && gaps, "there are such that are whole, cut, and with a gap");
	make(200, 1u << FP, 4);
	size_t n = unwind_it(&end);
	ok(end == UNWIND_CUT && n == CODE_STACK_MAX - 1 && right(n) == n,
	   "one that is too deep is cut");
}

static void test_bounds(void)
{
	enum unwind_end end;
	unsigned wrong = 0;
	for (unsigned i = 0; i < MANY; i++) {
		for (size_t w = 0; w < WORDS; w++)
			memory[w] = junk();
		regs = (struct pt_regs){
			.ip = CODE(random_below(KINDS), random_below(100)),
			.sp = random_below(4) ? (uint64_t)&memory[random_below(WORDS)] : junk(),
			.bp = junk()};
		wrong += unwind_it(&end) > CODE_STACK_MAX - 1;
		for (size_t w = 0; w < sizeof(walk) / 8; w++)
			((uint64_t *)&walk)[w] = junk();
		struct unwind_code code = {is_valid, rule_at, NULL};
		struct unwind_image image = c_stack_image(&walk.memory, &walk.links);
		image.pc = CODE(FP, 0);
		wrong += unwind(&image, &code, got, 20, &end) > 20;
	}
	is(wrong, 0, "any memory, and any record, gives a stack with a bound");
	kernel.unreadable = true;
	regs.ip = CODE(FP, 0);
	is(unwind_it(&end), 1, "of memory that cannot be read there is the innermost frame");
	ok(end == UNWIND_CUT, "which is cut");
	kernel.unreadable = false;
}

/* Where C was called by OCaml its stack begins in the middle of memory. */
static void test_high(void)
{
	enum unwind_end end;
	struct unwind_code code = {is_valid, rule_at, NULL};
	make(10, 1u << SAME | 1u << OTHER, 6);
	size_t n = unwind_it(&end);
	struct unwind_image image = c_stack_image(&walk.memory, NULL);
	/* The end of the fourth frame. */
	uint64_t high = image.sp;
	for (size_t i = 0; i < 4; i++)
		high += (uint64_t)rule_at(NULL, got[i], false).cfa;
	image.high = high;
	size_t below = unwind(&image, &code, got, CODE_STACK_MAX - 1, &end);
	ok(n == 10 && below == 4 && end == UNWIND_HIGH, "C ends where its stack begins");
	image.high = high - 8;
	unwind(&image, &code, got, CODE_STACK_MAX - 1, &end);
	ok(end == UNWIND_CUT, "if it leads beyond, it is cut");
}

/* The frame pointers that are followed if the first is so many bytes above the stack pointer, and
 * the second so many above that. */
static uint64_t links_of(uint64_t first, uint64_t second)
{
	static uint64_t far[2 * C_STACK_STEP / 8 + 1024] __attribute__((aligned(4096)));
	memset(far, 0, sizeof(far));
	regs = (struct pt_regs){
		.ip = CODE(FP, 0), .sp = (uint64_t)far, .bp = (uint64_t)far + first};
	far[first / 8] = (uint64_t)far + first + second;
	far[first / 8 + 1] = CODE(FP, 0);
	kernel.low = (uintptr_t)far;
	kernel.high = (uintptr_t)far + sizeof(far);
	stack_emit_c(&regs, 1, 2);
	memcpy(&walk, (const struct ebt_stack_record *)kernel.rec + 1, sizeof(walk));
	return walk.links.links;
}

static void test_steps(void)
{
	is(links_of(800, 16), 2, "frame pointers are followed");
	is(links_of(800, C_STACK_STEP - 8), 2, "also one that is nearly a MiB higher");
	is(links_of(800, C_STACK_STEP), 1, "but not one that is a whole MiB higher");
	is(links_of(C_STACK_STEP - 8, 16), 2, "the first may be as far from the stack pointer");
	is(links_of(C_STACK_STEP, 16), 0, "and no further");
	is(links_of(800, 0), 1, "one that leads to itself is followed once");
	is(links_of(804, 16), 0, "one that is not aligned is none");
}

int main(void)
{
	test_whole();
	test_cut();
	test_bounds();
	test_high();
	test_steps();
	return tap_done();
}
