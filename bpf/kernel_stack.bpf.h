/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Stacks of the kernel, of samples that interrupt it: a number for each, which records have. */
#ifndef BPF_KERNEL_STACK_BPF_H
#define BPF_KERNEL_STACK_BPF_H

#include "channel.bpf.h"

/* Created if they are wanted. A stack stays as long as the map. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, EBT_KERNEL_STACKS);
	__type(key, uint32_t);
	__type(value, uint64_t[EBT_KERNEL_FRAMES]);
} ebt_kernel_stacks SEC(".maps");

const volatile uint8_t ebt_kernel_stacks_on = 0;

/* For `kernel` of a record. */
static __always_inline uint32_t kernel_stack(struct bpf_perf_event_data *ctx)
{
	if (!ebt_kernel_stacks_on)
		return EBT_SAMPLE_KERNEL;
	long number = bpf_get_stackid(ctx, &ebt_kernel_stacks, 0);
	/* Another stack has its place in the map. */
	if (number < 0)
		return EBT_SAMPLE_KERNEL;
	return EBT_SAMPLE_KERNEL_STACK + (uint32_t)number;
}

#endif
