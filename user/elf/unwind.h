/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds a stack of machine code from a copy of a part of its memory, by the rules that the code's
 * own call frame information has for the caller's registers. That says also whether a function has
 * a frame pointer: where memory is missing, frame pointers are followed only through functions that
 * have one, or leave that of their caller alone. Code without such information is supposed to have
 * frame pointers.
 *
 * Neither the memory nor the rules are trusted: a stack is unwound upwards only, each frame is in
 * the copy, and each address must be behind a call. What does not hold ends the stack.
 */
#ifndef ELF_UNWIND_H
#define ELF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_kind {
	UNWIND_UNKNOWN = 0,   /* the code has no information */
	UNWIND_BY_SP = 1,     /* its frame is at a distance from the stack pointer, */
	UNWIND_BY_FP = 2,     /* or from the frame pointer */
	UNWIND_OTHERWISE = 3, /* as in a frame of a signal: not in this form */
	UNWIND_OUTERMOST = 4, /* there is no caller */
	/* From a register that callees preserve, where code has another stack than its callees. */
	UNWIND_BY_KEPT = 5,
};

/* How the registers of the caller of an instruction's function are found. */
struct unwind_rule {
	int32_t cfa;  /* end of the frame, from the register of the kind */
	int32_t pc;   /* where the return address is, from the end of the frame */
	int32_t fp;   /* where the caller's frame pointer is, from there, if has_fp */
	int32_t kept; /* likewise the register of UNWIND_BY_KEPT, if has_kept */
	uint8_t kind;
	uint8_t has_fp; /* the function has saved it; else it has not changed it */
	uint8_t has_kept;
	uint8_t reserved;
};

struct unwind_block {
	uint64_t at;
	const uint64_t *word;
	size_t words;
};

#define UNWIND_BLOCKS 3

/* What is known of a stack. Beyond the blocks this is a chain of `links` frame pointers: the word
 * at `from` + at[i] is the next one, `from` + at[i + 1], or `next` for the last, and the word
 * behind it is the return address address[i]. */
struct unwind_image {
	uint64_t pc, sp, fp;
	bool returns; /* to `pc`, which is no innermost one */
	bool strict;  /* code without information ends the stack */
	/* The register of UNWIND_BY_KEPT, and from where on the other stack is copied, to which it
	 * may lead; 0: there is none. */
	uint64_t kept, other;
	uint64_t high; /* where the stack of a caller of another kind begins; 0: none */
	struct unwind_block block[UNWIND_BLOCKS];
	const uint64_t *address;
	const uint32_t *at;
	size_t links;
	uint64_t from, next;
	/* Stack pointers of callers from which on the stack is known otherwise. */
	const uint64_t *known;
	size_t knowns;
};

/* The code. */
struct unwind_code {
	/* True if the address can be one to which a function returns; of the innermost, that of
	 * code. */
	bool (*is_valid)(void *ctx, uint64_t address, bool is_innermost);
	struct unwind_rule (*rule)(void *ctx, uint64_t address, bool is_innermost);
	void *ctx;
};

enum unwind_end {
	UNWIND_WHOLE, /* at the program's or thread's start */
	UNWIND_HIGH,  /* at image.high */
	UNWIND_KNOWN, /* at one of image.known: *ret_known */
	UNWIND_CUT,
};

/* In place of an address: frames are missing between its neighbours. The frame pointer that leads
 * over them may be none: what follows counts only if it leads to the end. */
#define UNWIND_GAP (UINT64_MAX - 1)

/* Writes the addresses, the innermost first. Their number. ret_known: its index; NULL if image has
 * none. */
size_t unwind_until(const struct unwind_image *image, const struct unwind_code *code, uint64_t *ret,
		    size_t cap, enum unwind_end *ret_end, size_t *ret_known);
static inline size_t unwind(const struct unwind_image *image, const struct unwind_code *code,
			    uint64_t *ret, size_t cap, enum unwind_end *ret_end)
{
	return unwind_until(image, code, ret, cap, ret_end, NULL);
}

#endif
