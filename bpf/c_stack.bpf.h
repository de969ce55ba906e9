/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the stack of C code is unwound from: the registers, the memory next to the stack pointer,
 * and the frame pointers beyond, as far as they can be followed. Whether they are frame pointers is
 * not known here: the tracer decides what of it is a stack.
 *
 * The program's memory is not trusted. A frame pointer must be aligned and higher than the one
 * before, by less than C_STACK_STEP; their number is limited.
 */
#ifndef EBT_C_STACK_BPF_H
#define EBT_C_STACK_BPF_H

#include "channel.bpf.h"
#include "registers.bpf.h"

#define C_STACK_STEP (1u << 20)
#define C_STACK_LINK 16
#define C_STACK_PAGE 4096

/* Copies the words from `at` on, as far as they can be read. Their number. */
static __always_inline uint64_t c_stack_copy(uint64_t *ret, uint64_t at, const uint32_t words)
{
	if (!bpf_probe_read_user(ret, words * sizeof(*ret), (void *)at))
		return words;
	/* What follows its last page may not be mapped. */
	uint64_t bytes = C_STACK_PAGE - (at & (C_STACK_PAGE - 1));
	bytes &= ~7ull;
	if (bytes >= words * sizeof(*ret) || bpf_probe_read_user(ret, (uint32_t)bytes, (void *)at))
		return 0;
	return bytes / sizeof(*ret);
}

/* The registers are there. */
static __always_inline void c_stack_words(struct ebt_stack_memory *m, uint64_t high)
{
	m->high = high;
	m->words = c_stack_copy(m->word, m->sp, EBT_STACK_WORDS);
}

static __always_inline void c_stack_memory(struct ebt_stack_memory *m, const struct pt_regs *regs,
					   uint64_t high)
{
	m->ip = REGS_IP(regs);
	m->sp = REGS_SP(regs);
	m->fp = REGS_FP(regs);
	c_stack_words(m, high);
}

/* Beside the record, as its numbers need not be followed by the verifier. */
struct c_stack_walk {
	struct ebt_stack_memory memory;
	struct ebt_stack_links links;
};

/* Follows one frame pointer. Nonzero: it is none. */
static long c_stack_step(uint32_t step, void *ctx)
{
	struct c_stack_walk *w = *(struct c_stack_walk **)ctx;
	uint64_t fp = w->links.next, from = fp - w->memory.sp;
	uint64_t pair[2];
	uint32_t n = (uint32_t)w->links.links;
	(void)step;
	if (n >= EBT_STACK_FRAMES || from + sizeof(pair) > UINT32_MAX)
		return 1;
	uint32_t i = (uint32_t)from / sizeof(*pair);
	if (from / sizeof(*pair) + 1 < w->memory.words) {
		pair[0] = w->memory.word[i & (EBT_STACK_WORDS - 1)];
		pair[1] = w->memory.word[(i + 1) & (EBT_STACK_WORDS - 1)];
	} else if (bpf_probe_read_user(pair, sizeof(pair), (void *)fp)) {
		return 1;
	}
	w->links.at[n] = (uint32_t)from;
	w->links.address[n] = pair[1];
	w->links.links = n + 1;
	w->links.next = pair[0];
	return pair[0] & 7 || pair[0] <= fp || pair[0] - fp >= C_STACK_STEP;
}

static __always_inline void c_stack_links(struct c_stack_walk *w)
{
	uint64_t sp = w->memory.sp;
	w->links.links = 0;
	w->links.next = w->memory.fp;
	w->links.tail = sp + w->memory.words * sizeof(uint64_t);
	if (!(w->memory.fp & 7) && w->memory.fp >= sp && w->memory.fp - sp < C_STACK_STEP)
		bpf_loop(EBT_STACK_FRAMES, c_stack_step, &w, 0);
	uint32_t last = (uint32_t)w->links.links - 1;
	/* Behind the last one is what it returns to, as at the program's start, if anything. */
	if (last < EBT_STACK_FRAMES && sp + w->links.at[last] + C_STACK_LINK > w->links.tail)
		w->links.tail = sp + w->links.at[last] + C_STACK_LINK;
	w->links.tail_words = c_stack_copy(w->links.tail_word, w->links.tail, EBT_TAIL_WORDS);
}

#endif
