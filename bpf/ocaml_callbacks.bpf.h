/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* The C beside the stacks of OCaml: what OCaml has called, and what has called OCaml again. */
#ifndef EBT_OCAML_CALLBACKS_BPF_H
#define EBT_OCAML_CALLBACKS_BPF_H

#include "c_stack.bpf.h"
#include "ocaml_stack.bpf.h"

/* The memory between the calls of OCaml by C and those of C by OCaml. */
static __always_inline void ocaml_callbacks(struct ebt_ocaml_callbacks *ret,
					    const struct ocaml_walk *w)
{
	uint32_t n = w->callbacks;
	if (n > EBT_OCAML_CALLBACKS)
		n = EBT_OCAML_CALLBACKS;
	ret->count = n;
	for (uint32_t i = 0; i < EBT_OCAML_CALLBACKS; i++) {
		struct ebt_ocaml_callback *c = &ret->callback[i];
		if (i >= n)
			break;
		c->link = w->callback[i].link;
		c->high = w->callback[i].outer;
		c->frames = w->callback[i].frames;
		c->words = c_stack_copy(c->word, c->link, EBT_CALLBACK_WORDS);
	}
}

/* Where the C that OCaml has called begins; 0: not in the stack of this thread, which collects for
 * the domain. A thread's descriptor is above its stack. */
static __always_inline uint64_t ocaml_begin_of_c(uint64_t c_stack, uint64_t sp,
						 struct task_struct *task)
{
	uint64_t thread = REGS_THREAD(task);
	return sp < thread && thread < c_stack ? 0 : c_stack;
}

#endif
