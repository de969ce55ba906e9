/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An OCaml program in memory, a domain with a minor heap and stacks of frames, and
 * bpf/ocaml_alloc.bpf.c as a user program with helpers of our own, which is hit by it. Included
 * once, by a test.
 */
#ifndef TESTS_OCAML_PROGRAM_H
#define TESTS_OCAML_PROGRAM_H

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
static long bpf_map_delete_elem(void *map, const void *key);

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
static struct ocaml_turn turns[1 << TURN_BITS];
static uint64_t known[OCAML_KNOWN];

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	if (map == &ebt_ocaml_descriptors)
		return &known[*(const uint32_t *)key];
	if (map == &ebt_ocaml_allocs)
		return *(const uint32_t *)key == KEY ? runtime : NULL;
	if (map == &ebt_ocaml_turns)
		return *(const uint32_t *)key < 1 << TURN_BITS ? &turns[*(const uint32_t *)key]
							       : NULL;
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

static long bpf_map_delete_elem(void *map, const void *key)
{
	(void)map;
	(void)key;
	domain = NULL;
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
static inline void put_descriptors(void)
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

static inline uint64_t at_word(const struct stack *s, size_t i)
{
	return (uintptr_t)&s->word[i];
}

/* An empty stack: what the program has begun, or an effect handler. */
static inline void begin_stack(struct stack *s, struct stack *parent)
{
	memset(s, 0, sizeof(*s));
	s->word[2] = at_word(s, WORDS - 4);
	s->word[WORDS - 1] = (uintptr_t)parent;
	s->top = WORDS - 4;
}

static inline void push(struct stack *s, uint64_t word)
{
	s->word[--s->top] = word;
	s->word[0] = at_word(s, s->top);
}

/* OCaml is called by C, or by an effect handler: a header, and the address to return there. */
static inline void begin_chunk(struct stack *s)
{
	s->top -= 4;
	push(s, ADDRESS(TO_C));
}

/* A function calls: its frame ends with the address to which the next one returns. */
static inline void call(struct stack *s, unsigned function)
{
	s->top -= function;
	push(s, ADDRESS(function));
}

static inline void begin(void)
{
	runtime_is = (struct ebt_ocaml_allocs){
		.stacks.frames = (uintptr_t)&table,
		.state = {.tls = EBT_OCAML_TLS_STATIC, .tls_offset = 0, .id_offset = 16 * 8},
		.slot = SLOT,
		.trigger = 32,
		.minor_words = 20 * 8,
		.allocated_words = 24 * 8,
		.stacks.current_stack = 40,
		.stacks.c_stack = 64,
		.stacks.first_frame = 8,
		.release = 53,
	};
	runtime = &runtime_is;
	domain = NULL;
	memset(known, 0, sizeof(known));
	memset(turns, 0, sizeof(turns));
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
static inline const struct ebt_alloc_record *hit(uint32_t function, uint64_t first, uint64_t second,
						 uint64_t third)
{
	struct pt_regs regs = {.di = first, .si = second, .dx = third};
	int before = kernel.records;
	kernel.cookie = EBT_OCAML_ALLOC_COOKIE(KEY, function);
	ebt_ocaml_alloc(&regs);
	return kernel.records == before + 1 ? (const struct ebt_alloc_record *)kernel.rec : NULL;
}

/* The domain allocates an object of `words` at once, which leaves `left` of its heap. */
static inline const struct ebt_alloc_record *allocate(uint64_t words, uint64_t left)
{
	state[1] = (uintptr_t)(heap + left);
	return hit(EBT_OCAML_ALLOC_SMALL, (uintptr_t)state, words, 3);
}

#endif
