/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of the kernel of samples that interrupted it, which are inside of those of the
 * program. A function has no line; its file is KERNEL_STACKS_FILE. Where a stack is not known, or
 * names may not be read, one frame says that the kernel ran.
 */
#ifndef SOURCE_BPF_KERNEL_STACKS_H
#define SOURCE_BPF_KERNEL_STACKS_H

#include "session/session.h"
#include "source/bpf/kernel.h"

#define KERNEL_STACKS_FILE "[kernel]"

struct kernel_stacks;

/* Reads the kernel's symbols; a message says if that may not be done. Both pointers are kept. 0 or
 * -ENOMEM. */
int kernel_stacks_new(struct session *s, const struct bpf_kernel *k, struct kernel_stacks **ret);
void kernel_stacks_free(struct kernel_stacks *k); /* NULL is allowed */
/* Adds them to the stack of an event. kernel: of its record (struct ebt_sample_record). 0 or
 * -ENOMEM. */
int kernel_stacks_add(struct kernel_stacks *k, uint32_t kernel, struct ebt_event *ev);

#endif
