/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The time that a thread of a traced process spends in page faults, without that in which it has no CPU
 * meanwhile: faults.bpf.c measures it, whoever counts pauses reads it, and sched.bpf.c leaves out what
 * it records itself.
 */
#ifndef EBT_FAULTS_BPF_H
#define EBT_FAULTS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* Set before load. */
const volatile uint32_t ebt_faults_on __weak = 0;

struct fault_time {
	uint64_t from; /* of the fault that it is in; 0: none, or one that has failed */
	uint64_t ns;   /* of all that have ended */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault_time);
} ebt_faults __weak SEC(".maps");

/* The thread had no CPU for so long. */
static __always_inline void faults_leave_out(struct task_struct *task, uint64_t ns)
{
	struct fault_time *f = ebt_faults_on ? bpf_task_storage_get(&ebt_faults, task, 0, 0) : 0;
	if (f && f->from)
		f->from += ns;
}

/* Up to now. A thread without faults has none: 0. */
static __always_inline uint64_t faults_time(struct task_struct *task)
{
	struct fault_time *f = bpf_task_storage_get(&ebt_faults, task, 0, 0);
	return f ? f->ns : 0;
}

#endif
