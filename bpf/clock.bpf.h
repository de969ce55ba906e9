/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Times of records: CLOCK_MONOTONIC as the tracer has it. In a time namespace that clock has an
 * offset to the kernel's own, and so have the times that a traced program takes itself.
 */
#ifndef EBTRACE_CLOCK_BPF_H
#define EBTRACE_CLOCK_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* By how much the tracer's clock is ahead of the kernel's own, ns; set before load. */
const volatile int64_t ebt_clock_ahead __weak = 0;

/* How to read a member of a typed pointer to a task, and of another one. */
#define CLOCK_TYPED(task, member)   ((task)->nsproxy->time_ns->offsets.monotonic.member)
#define CLOCK_UNTYPED(task, member) BPF_CORE_READ(task, nsproxy, time_ns, offsets.monotonic.member)

/* By how much the task's clock is ahead of the tracer's, ns. A kernel without time namespaces has
 * no offsets. */
#define CLOCK_AHEAD(read, task)                                                              \
	(bpf_core_field_exists(((struct time_namespace *)0)->offsets)                        \
		 ? read(task, tv_sec) * 1000000000ll + read(task, tv_nsec) - ebt_clock_ahead \
		 : 0)

static __always_inline uint64_t clock_now(void)
{
	return bpf_ktime_get_ns() + (uint64_t)ebt_clock_ahead;
}

/* A time that the current task has taken. */
static __always_inline uint64_t clock_of_program(uint64_t ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	return ns - (uint64_t)CLOCK_AHEAD(CLOCK_TYPED, task);
}

static __always_inline int64_t clock_ahead_of(struct task_struct *task)
{
	return CLOCK_AHEAD(CLOCK_UNTYPED, task);
}

#endif
