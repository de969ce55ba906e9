/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of words in memory, by rules of each function: to their end, over gaps, and cut. */
#include "elf/unwind.h"
#include "tests/tap.h"

#define STACK	  0x7000u
#define WORDS	  64
#define OF_FP	  0x100u /* an address of code of which no rule is known: it has a frame pointer */
#define OF_NONE	  0x200u /* that saves no frame pointer, and whose own caller is not found */
#define OF_PUSHED 0x2f0u
#define OF_OTHER  0x2f1u
#define OF_SP	  0x2f2u
#define OF_START  0x300u
#define OTHER	  0x3000u /* another stack */

static uint64_t stack[WORDS];
static unsigned innermost; /* addresses that code was asked of as the innermost one */

static bool is_valid(void *ctx, uint64_t address, bool is_innermost)
{
	(void)ctx;
	innermost += is_innermost;
	return address >= OF_FP && address < OF_START + 0x100;
}

static struct unwind_rule rule(void *ctx, uint64_t address, bool is_innermost)
{
	(void)ctx;
	innermost += is_innermost;
	uint8_t kind = address >= OF_START  ? UNWIND_OUTERMOST
		       : address >= OF_NONE ? UNWIND_OTHERWISE
					    : UNWIND_UNKNOWN;
	/* C that has pushed a register that it preserves, and code with a stack of its own. */
	if (address == OF_PUSHED)
		return (struct unwind_rule){
			.kind = UNWIND_BY_SP, .cfa = 16, .pc = -8, .has_kept = true, .kept = -16};
	if (address == OF_OTHER)
		return (struct unwind_rule){.kind = UNWIND_BY_KEPT, .cfa = 24, .pc = -8};
	if (address == OF_SP)
		return (struct unwind_rule){.kind = UNWIND_BY_SP, .cfa = 16, .pc = -8};
	return (struct unwind_rule){.kind = kind};
}

static const struct unwind_code code = {.is_valid = is_valid, .rule = rule};

/* Frames of four words, each with the frame pointer of the next: `first`, then those of OF_FP, then
 * the start. */
static struct unwind_image image_of(uint64_t first, unsigned frames)
{
	for (unsigned i = 0; i < frames; i++) {
		bool is_last = i + 1 == frames;
		stack[4 * i] = is_last ? 0 : STACK + 8 * (4 * i + 4);
		stack[4 * i + 1] = is_last ? OF_START : OF_FP + i;
	}
	return (struct unwind_image){
		.pc = first, .sp = STACK, .fp = STACK, .block = {{STACK, stack, WORDS}}};
}

/* With room for so many addresses, and one behind them that stays as it is. */
static size_t walk(const struct unwind_image *image, size_t cap, uint64_t *ret,
		   enum unwind_end *ret_end)
{
	ret[cap] = 42;
	innermost = 0;
	return unwind(image, &code, ret, cap, ret_end);
}

/* C on its stack, called by code whose stack is another one, to which a register leads. */
static void test_other_stack(void)
{
	uint64_t c_stack[] = {OTHER, OF_OTHER}, other[] = {1, 2, OF_SP, 3, OF_SP, 4, OF_START};
	uint64_t known[] = {OTHER + 8, OTHER + 40}, got[16];
	enum unwind_end end;
	size_t met = 9;
	struct unwind_image image = {.pc = OF_PUSHED,
				     .sp = STACK,
				     .strict = true,
				     .kept = 0x77,
				     .other = OTHER,
				     .block = {{STACK, c_stack, 2}, {OTHER, other, 7}}};
	ok(unwind(&image, &code, got, 16, &end) == 5 && end == UNWIND_WHOLE && got[1] == OF_OTHER &&
		   got[2] == OF_SP && got[4] == OF_START,
	   "a preserved register leads to the stack of the caller");
	image.known = known;
	image.knowns = 2;
	ok(unwind_until(&image, &code, got, 16, &end, &met) == 3 && end == UNWIND_KNOWN && met == 1,
	   "up to a caller that is known otherwise");
	uint64_t lower[] = {7, 8, 1, 2, OF_SP, 3, OF_SP, 4, OF_START};
	image.other = OTHER - 16;
	image.block[1] = (struct unwind_block){OTHER - 16, lower, 9};
	ok(unwind_until(&image, &code, got, 16, &end, &met) == 3 && end == UNWIND_KNOWN && met == 1,
	   "also if what is copied begins below it");
	image.other = OTHER + 8;
	ok(unwind_until(&image, &code, got, 16, &end, &met) == 2 && end == UNWIND_CUT,
	   "not if the register leads below that");
	image.pc = OF_FP;
	image.fp = STACK;
	ok(unwind_until(&image, &code, got, 16, &end, &met) == 1 && end == UNWIND_CUT,
	   "where only rules count, a frame pointer does not");
}

int main(void)
{
	test_other_stack();
	uint64_t got[16];
	enum unwind_end end;
	struct unwind_image image = image_of(OF_FP + 0x50, 5);
	ok(walk(&image, 15, got, &end) == 6 && end == UNWIND_WHOLE && got[0] == OF_FP + 0x50 &&
		   got[1] == OF_FP && got[5] == OF_START,
	   "a stack of frame pointers is walked to the start");
	is(innermost, 2, "only the first address is looked up as the innermost one");
	image.returns = true;
	walk(&image, 15, got, &end);
	is(innermost, 0, "none, where that is a return address");
	image.returns = false;
	for (size_t cap = 0; cap < 6; cap++)
		ok(walk(&image, cap, got, &end) == cap && end == UNWIND_CUT && got[cap] == 42,
		   "with room for %zu the innermost are written", cap);
	image = image_of(OF_NONE, 3);
	ok(walk(&image, 15, got, &end) == 5 && end == UNWIND_WHOLE && got[1] == UNWIND_GAP &&
		   got[2] == OF_FP && got[4] == OF_START,
	   "frames that are missing are a gap");
	unsigned wrong = 0;
	for (size_t cap = 0; cap < 5; cap++)
		wrong += walk(&image, cap, got, &end) > cap || end != UNWIND_CUT || got[cap] != 42;
	is(wrong, 0, "neither a gap nor what is behind it is written beyond the room");
	is(walk(&image, 4, got, &end), 1,
	   "what is behind a gap counts only if it leads to the start");
	image = image_of(OF_FP, 5);
	image.high = STACK + 8 * 4;
	ok(walk(&image, 15, got, &end) == 2 && end == UNWIND_CUT,
	   "a frame that leads beyond the end of the stack at hand is the last one");
	image.high = STACK + 8 * 6;
	ok(walk(&image, 15, got, &end) == 2 && end == UNWIND_HIGH,
	   "one that leads right there ends it");
	stack[4] = STACK; /* back */
	image = image_of(OF_FP, 3);
	stack[4] = STACK;
	ok(walk(&image, 15, got, &end) <= 3 && end == UNWIND_CUT,
	   "a frame pointer that leads back ends the stack");
	return tap_done();
}
