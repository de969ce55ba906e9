/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Stacks of events, each a record of its own before that of its event, so that events without one
 * cost nothing more. The tracer chooses the events before it loads the programs: where it has
 * chosen none, the verifier removes the code.
 */
#ifndef EBT_STACKS_BPF_H
#define EBT_STACKS_BPF_H

#include "c_stack.bpf.h"

/* Set before load. */
const volatile uint32_t ebt_stacks_on __weak = 0;
const volatile struct ebt_stack_choice ebt_stacks __weak = {};

static __always_inline int stack_wanted(uint32_t numbering, uint32_t kind, uint32_t id)
{
	if (!ebt_stacks_on || kind >= EBT_KINDS)
		return 0;
	uint64_t kinds = ebt_stacks.kinds;
	if (numbering < EBT_NUMBERINGS && id < EBT_PHASE_IDS) {
		/* The compiler may test the bound in ways that the verifier does not see. */
		asm volatile("" : "+r"(id), "+r"(numbering));
		kinds |= ebt_stacks.ids[numbering & (EBT_NUMBERINGS - 1)][id & (EBT_PHASE_IDS - 1)];
	}
	return kinds >> kind & 1;
}

/* Of the end of a pause: its stack is that of its begin, and a short one pays nothing. */
static __always_inline int stack_wanted_of_pause(uint64_t begin_ts, uint64_t end_ts)
{
	return ebt_stacks_on && ebt_stacks.pause_ns && end_ts - begin_ts >= ebt_stacks.pause_ns;
}

static __always_inline void stack_emit_c(const struct pt_regs *regs, uint32_t slot, uint64_t ts)
{
	struct ebt_stack_record *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec) + sizeof(struct c_stack_walk), 0);
	if (!rec) {
		__sync_fetch_and_add(&ebt_dropped.stacks, 1);
		return;
	}
	channel_head(&rec->head, EBT_RECORD_STACK, slot, EBT_STACK_OF_C);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->release = 0;
	rec->head.size = sizeof(struct c_stack_walk);
	struct c_stack_walk *w = (struct c_stack_walk *)(rec + 1);
	c_stack_memory(&w->memory, regs, 0);
	c_stack_links(w);
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

#endif
