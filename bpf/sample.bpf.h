/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Where a thread of a traced process is, at any instruction, and what its stack is unwound from. No
 * word of its stack is known to be a return address, but where OCaml has called C; which ones are,
 * the tracer decides by the code's own information. Memory that is not there is not read in.
 */
#ifndef EBT_SAMPLE_BPF_H
#define EBT_SAMPLE_BPF_H

#include "ocaml_callbacks.bpf.h"

#define SAMPLE_SEARCH	   64 /* words of the innermost function's frame; a power of 2 */
#define SAMPLE_SAVED_FIRST 6  /* registers that a function may save */
#define SAMPLE_SAVED	   64 /* words of C in which is what its outermost function saved */
#define SAMPLE_MOST_OF_C   (8u << 20)
#define SAMPLE_FAR	   (1ull << 31) /* code is no farther from other code of its module */

/* How OCaml's stacks are walked in a process, by its slot. The tracer sets the size before it loads
 * this. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, struct ebt_ocaml_runtime);
} ebt_sampled __weak SEC(".maps");

struct registers {
	uint64_t ip, sp, fp, kept;
	uint32_t kernel;
};

/* Those of its user mode. */
static __always_inline void read_user_registers(struct task_struct *task, struct registers *ret)
{
	const struct pt_regs *user = (void *)bpf_task_pt_regs(task);
	ret->kernel = 1;
	ret->ip = REGS_IP(user);
	ret->sp = REGS_SP(user);
	ret->fp = REGS_FP(user);
	ret->kept = REGS_KEPT(user);
}

static __always_inline void set_registers(struct ebt_stack_memory *m, const struct registers *from)
{
	m->ip = from->ip;
	m->sp = from->sp;
	m->fp = from->fp;
}

/* ---- C ---- */

struct sample_c {
	struct c_stack_walk walk;
	struct ebt_sample_more more;
};

/* By parts: what follows the last page of a stack is not mapped. */
static __always_inline void copy_more(struct ebt_sample_more *ret, const struct ebt_stack_memory *m)
{
	uint64_t at = m->sp + sizeof(m->word), words = 0;
#pragma unroll
	for (uint32_t i = 0; i < EBT_SAMPLE_WORDS / EBT_STACK_WORDS; i++) {
		if (m->words + words != (i + 1) * EBT_STACK_WORDS)
			break;
		words += c_stack_copy(ret->word + i * EBT_STACK_WORDS,
				      at + i * EBT_STACK_WORDS * sizeof(uint64_t), EBT_STACK_WORDS);
	}
	ret->words = words;
}

/* rec has its head, and behind it is room for b. */
static __always_inline void sample_put_c(struct ebt_sample_record *rec, struct sample_c *b,
					 const struct registers *regs, uint16_t domain)
{
	rec->head.site = EBT_SAMPLE_C;
	rec->head.size = sizeof(*b);
	rec->release = rec->whole = 0;
	rec->domain = domain;
	rec->kernel = (uint16_t)regs->kernel;
	rec->returns = 0;
	set_registers(&b->walk.memory, regs);
	c_stack_words(&b->walk.memory, 0);
	c_stack_links(&b->walk);
	copy_more(&b->more, &b->walk.memory);
}

/* ---- OCaml ---- */

/* The walk begins with its frames. */
struct sample_ocaml {
	struct ebt_stack_memory memory;
	struct ebt_sample_more more;
	struct ebt_sample_caller caller;
	struct ebt_ocaml_callbacks callbacks;
	struct ebt_sample_starts starts;
	struct ocaml_walk walk;
	uint64_t near;	   /* an address of its code */
	uint32_t searched; /* words of the stack that were tried to be the first return address */
	uint32_t searches;
};
_Static_assert(SAMPLE_SEARCH == EBT_SAMPLE_CALLER_WORDS, "they are copied");

/* Where a thread with a domain's state is. */
struct place {
	uint64_t state, c_stack;
	uint64_t low, high; /* of the stack of OCaml, if it is on one */
	uint16_t where;
	uint16_t domain; /* EBT_NO_DOMAIN: not known */
};

static __always_inline void find_place(const struct ebt_ocaml_runtime *r,
				       const struct registers *regs, struct task_struct *task,
				       struct place *ret)
{
	struct ocaml_stack_info info;
	uint64_t sp = regs->sp;
	ret->where = EBT_SAMPLE_C;
	if (!ret->state || !r->stacks.frames)
		return;
	ret->c_stack = ocaml_begin_of_c(user_word(ret->state + r->stacks.c_stack), sp, task);
	ret->low = user_word(ret->state + r->stacks.current_stack);
	if (!ret->low || bpf_probe_read_user(&info, sizeof(info), (void *)ret->low))
		return;
	ret->high = info.handler;
	if (sp > ret->low && sp < ret->high)
		ret->where = EBT_SAMPLE_OCAML;
	else if (sp <= ret->c_stack && ret->c_stack - sp < SAMPLE_MOST_OF_C)
		ret->where = EBT_SAMPLE_C_BY_OCAML;
}

/* Tries the next word of the stack as the first return address. Nonzero: there is none, and no
 * frames of an earlier one are left. */
static __always_inline long search(struct sample_ocaml *b)
{
	struct ocaml_walk *w = &b->walk;
	uint32_t i = b->searched++;
	w->frames = 0;
	if (i >= SAMPLE_SEARCH || i >= b->caller.words)
		return 1;
	/* The compiler may test the bound in ways that the verifier does not see. */
	asm volatile("" : "+r"(i));
	uint64_t word = b->caller.word[i & (SAMPLE_SEARCH - 1)];
	uint64_t sp = b->caller.sp + (i + 1) * sizeof(word);
	if (sp > w->high)
		return 1;
	if (word - b->near + SAMPLE_FAR >= 2 * SAMPLE_FAR)
		return 0;
	b->searches = 0;
	w->callbacks = w->probes = 0;
	w->low = w->sp = sp;
	w->pc = word;
	w->slot = (uint32_t)(word >> 3) & w->mask;
	return 0;
}

/* A step of the search for the first return address, or of the walk from it. Frames that lead
 * neither to the end of those of a stack nor to more than have room begin with a stale one.
 * Nonzero: the end. */
static long sample_step(uint32_t step, void *ctx)
{
	struct sample_ocaml *b = *(struct sample_ocaml **)ctx;
	struct ocaml_walk *w = &b->walk;
	if (b->searches)
		return search(b);
	if (!ocaml_step(step, &w))
		return 0;
	b->searches = !w->starts.end && w->frames < OCAML_FRAMES;
	return !b->searches;
}

/* From a stack pointer on. */
static __always_inline void walk_from(struct sample_ocaml *b, const struct ebt_ocaml_runtime *r,
				      const struct place *p, uint64_t sp, uint64_t near)
{
	b->caller.sp = sp;
	b->caller.words = c_stack_copy(b->caller.word, sp, EBT_SAMPLE_CALLER_WORDS);
	b->near = near;
	ocaml_begin(&b->walk, &r->stacks, p->state);
	b->walk.low = p->low;
	b->walk.high = p->high;
	b->searched = 0;
	b->searches = 1;
	if (!ocaml_find_table(&b->walk, &r->stacks, r->stacks.frames))
		bpf_loop(OCAML_STEPS, sample_step, &b, 0);
}

struct caller_search {
	uint64_t low, high, from;
	uint64_t found;
	uint32_t step; /* that has found it */
};

/*
 * Reads a word that C has saved, from the outermost on, for one that is in the stack of OCaml. Of
 * the registers that a function saves first it is the last one. Two others may have old ones, but
 * never the one before it; what follows, which need not be saved registers, may also. What is
 * copied from a lower one has it, too, if it is near: the unwinder finds which one it is.
 */
static long caller_step(uint32_t step, void *ctx)
{
	struct caller_search *s = ctx;
	uint64_t word = 0;
	if (bpf_probe_read_user(&word, sizeof(word), (void *)(s->from - step * sizeof(word))))
		return 1;
	if (word > s->low && word < s->high && !(word & 7) &&
	    (!s->found ||
	     (step - s->step != 1 && word - s->found >= SAMPLE_SEARCH * sizeof(word)))) {
		s->found = word;
		s->step = step;
	}
	return s->found && step + 1 >= SAMPLE_SAVED_FIRST;
}

/* Where the stack of OCaml is, if it has called C without saving that. 0: it was not found. */
static __always_inline uint64_t find_caller(const struct registers *regs, const struct place *p)
{
	if (regs->kept > p->low && regs->kept < p->high && !(regs->kept & 7))
		return regs->kept;
	struct caller_search s = {.low = p->low, .high = p->high, .from = p->c_stack - 16};
	uint64_t words = (p->c_stack - regs->sp) / sizeof(uint64_t);
	if (words < 2)
		return 0;
	bpf_loop(words < SAMPLE_SAVED ? (uint32_t)words - 1 : SAMPLE_SAVED, caller_step, &s, 0);
	return s.found;
}

static __always_inline void walk_caller(struct sample_ocaml *b, const struct registers *regs,
					const struct ebt_ocaml_runtime *r, const struct place *p,
					uint64_t returns)
{
	uint64_t sp = returns - r->glue < r->glue_end - r->glue ? 0 : find_caller(regs, p);
	b->caller.kept = regs->kept;
	if (sp)
		walk_from(b, r, p, sp, returns);
	else
		ocaml_stack(&b->walk, &r->stacks, r->stacks.frames, p->state);
}

static __always_inline void sample_put_ocaml(struct ebt_sample_record *rec, struct sample_ocaml *b,
					     const struct registers *regs,
					     const struct ebt_ocaml_runtime *r,
					     const struct place *p)
{
	rec->head.site = p->where;
	rec->release = r->release;
	rec->domain = p->domain;
	rec->kernel = (uint16_t)regs->kernel;
	set_registers(&b->memory, regs);
	c_stack_words(&b->memory, p->where == EBT_SAMPLE_OCAML ? 0 : p->c_stack);
	rec->returns = 0;
	b->caller.sp = b->caller.words = 0;
	if (p->where == EBT_SAMPLE_OCAML) {
		b->more.words = 0;
		walk_from(b, r, p, regs->sp, regs->ip);
	} else {
		copy_more(&b->more, &b->memory);
		rec->returns = user_word(p->c_stack - sizeof(uint64_t));
		walk_caller(b, regs, r, p, rec->returns);
	}
	ocaml_callbacks(&b->callbacks, &b->walk);
	b->starts = b->walk.starts;
	rec->whole = b->walk.whole;
	rec->head.size = (uint16_t)(offsetof(struct sample_ocaml, walk) +
				    b->walk.frames * sizeof(struct ebt_ocaml_frame));
}

/* The state of the thread's domain; 0: it has none. In a blocking section another thread may use
 * it, and then has its own stacks there. */
static __always_inline uint64_t find_state(const struct ebt_ocaml_runtime *r,
					   struct task_struct *task)
{
	uint64_t at = ocaml_state_at(r->tls, r->tls_offset, r->tls_module, task);
	uint64_t state = user_word(at);
	if (state || !r->domain_self)
		return state;
	uint64_t self = user_word(at + (int64_t)r->domain_self);
	return self ? user_word(self + sizeof(self)) : 0;
}

/* The runtime of a slot, if it has one, and where in it the current thread is: in C alone, if that
 * is where it is. */
static __always_inline const struct ebt_ocaml_runtime *sample_find(uint32_t slot,
								   struct task_struct *task,
								   const struct registers *regs,
								   struct place *ret)
{
	const struct ebt_ocaml_runtime *r = bpf_map_lookup_elem(&ebt_sampled, &slot);
	ret->domain = EBT_NO_DOMAIN;
	if (!r)
		return 0;
	if (r->tls != EBT_OCAML_TLS_NONE)
		ret->state = find_state(r, task);
	ret->domain = ocaml_domain(ret->state, r->id_offset);
	if (ret->domain != EBT_NO_DOMAIN)
		ret->domain += r->domain_base;
	find_place(r, regs, task, ret);
	return r;
}

#endif
