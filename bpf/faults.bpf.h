/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The time that a thread of a traced process spends in page faults in its pauses, without that in
 * which it has no CPU meanwhile: faults.bpf.c measures it, the programs that count pauses begin,
 * end and read it, and sched.bpf.c leaves out what it records itself. A fault outside of pauses
 * reads no clock.
 */
#ifndef EBT_FAULTS_BPF_H
#define EBT_FAULTS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* Set before load. */
const volatile uint32_t ebt_faults_on __weak = 0;

struct fault_time {
	uint64_t from;	 /* of the fault that it is in; 0: none */
	uint64_t ns;	 /* of all that have ended in pauses */
	uint64_t pauses; /* that it is in, one of each program that counts them */
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

/* A pause of the thread begins. Its time up to now. */
static __always_inline uint64_t faults_enter(struct task_struct *task)
{
	struct fault_time *f =
		bpf_task_storage_get(&ebt_faults, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!f)
		return 0;
	f->pauses++;
	return f->ns;
}

/* The pause ends. The time up to now. */
static __always_inline uint64_t faults_leave(struct task_struct *task)
{
	struct fault_time *f = bpf_task_storage_get(&ebt_faults, task, 0, 0);
	if (!f)
		return 0;
	if (f->pauses)
		f->pauses--;
	return f->ns;
}

#endif
