/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds a stack of any memory: registers and links, then the words from the stack pointer on, of
 * which the last quarter stands further up. Which rule an address has, it says itself. Shared by
 * the fuzz target and by the test that shows how far its seeds reach.
 */
#ifndef FUZZ_UNWIND_BODY_H
#define FUZZ_UNWIND_BODY_H

#include "elf/unwind.h"
#include <stdlib.h>
#include <string.h>

#define UNWIND_BODY_LINKS  16
#define UNWIND_BODY_WORDS  512
#define UNWIND_BODY_FRAMES 127

struct unwind_body {
	struct {
		uint64_t pc, sp, fp, high, next, links;
		uint64_t address[UNWIND_BODY_LINKS];
		uint32_t at[UNWIND_BODY_LINKS];
		uint64_t word[UNWIND_BODY_WORDS];
	} in;
	uint64_t address[UNWIND_BODY_FRAMES];
	size_t frames, gaps;
	enum unwind_end end;
};

static bool unwind_body_valid(void *ctx, uint64_t address, bool is_innermost)
{
	(void)ctx;
	(void)is_innermost;
	return address >> 20 == 4;
}

/* Of an address 0x4KFPCC the kind, how the frame pointer is saved, and the words of the frame. */
static struct unwind_rule unwind_body_rule(void *ctx, uint64_t address, bool is_innermost)
{
	(void)ctx;
	(void)is_innermost;
	return (struct unwind_rule){
		.kind = (uint8_t)(address >> 16 & 15) % (UNWIND_OUTERMOST + 1),
		.has_fp = address >> 12 & 1,
		.fp = -8 * (int32_t)(address >> 8 & 15),
		.pc = -8,
		.cfa = 8 * (int8_t)address,
	};
}

static struct unwind_body unwind_body(const uint8_t *data, size_t size)
{
	struct unwind_body b = {0};
	struct unwind_code code = {unwind_body_valid, unwind_body_rule, NULL};
	memcpy(&b.in, data, size < sizeof(b.in) ? size : sizeof(b.in));
	struct unwind_image image = {
		.pc = b.in.pc,
		.sp = b.in.sp,
		.fp = b.in.fp,
		.high = b.in.high,
		.returns = b.in.pc & 1,
		.block = {{b.in.sp, b.in.word, UNWIND_BODY_WORDS * 3 / 4},
			  {b.in.sp + 8 * UNWIND_BODY_WORDS, b.in.word + UNWIND_BODY_WORDS * 3 / 4,
			   UNWIND_BODY_WORDS / 4}},
		.address = b.in.address,
		.at = b.in.at,
		.links = b.in.links % (UNWIND_BODY_LINKS + 1),
		.from = b.in.sp,
		.next = b.in.next,
	};
	b.frames = unwind(&image, &code, b.address, UNWIND_BODY_FRAMES, &b.end);
	if (b.frames > UNWIND_BODY_FRAMES)
		abort();
	for (size_t i = 0; i < b.frames; i++)
		b.gaps += b.address[i] == UNWIND_GAP;
	if (b.gaps && b.end == UNWIND_CUT)
		abort();
	return b;
}

#endif
