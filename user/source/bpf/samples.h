/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the records of samples (bpf/abi.h), with their stacks. The innermost function was
 * interrupted at any instruction: its frame is what the code's own call frame information says at
 * that place. From its caller on the stack is what the walk in the kernel has found, where both
 * agree on a caller's stack pointer; a word that only looks like a return address is no frame.
 */
#ifndef SOURCE_BPF_SAMPLES_H
#define SOURCE_BPF_SAMPLES_H

#include <ebtrace/event.h>

#include "bpf/abi.h"
#include "source/stacks/c_stack.h"

/* Completes the event of a record with its payload: *ev has the time, process and thread. 0,
 * -ENOMEM, or -EAGAIN: a lookup was put off, and the record is to be received again. */
int samples_make(const struct c_stack_of *of, const struct ebt_sample_record *rec, size_t payload,
		 uint64_t period_ns, struct ebt_event *ev);
/* Likewise, gives an event the stack of such a record; *ret is how far it reaches. */
int samples_put_stack(const struct c_stack_of *of, const struct ebt_sample_record *rec,
		      size_t payload, struct ebt_event *ev, enum ebt_sample_end *ret);

#endif
