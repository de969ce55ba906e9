/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What sched.bpf.c keeps of each thread of a traced process. The programs that count pauses note
 * there that the thread is in one, if the tracer wants stacks of what blocks threads in pauses
 * alone.
 */
#ifndef EBT_THREADS_BPF_H
#define EBT_THREADS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "abi.h"

struct sched_thread {
	uint64_t from;	    /* it does not run since then; 0: it runs */
	uint64_t woken;	    /* of its last waking */
	uint64_t run_delay; /* the kernel's account at `from` */
	uint32_t slot;	    /* of its process */
	uint32_t waker;
	int32_t syscall;
	uint32_t reason;    /* enum ebt_offcpu_reason */
	uint32_t interrupt; /* it was woken in one */
	uint32_t waiter;    /* 1 + its index among the waiters of wait_cpu; 0: none */
	void *scratch;	    /* of in_interrupt() */
	uint32_t wait_cpu;
	uint32_t room;	 /* 1 + the index of its stack in ebt_offcpu_rooms; 0: none */
	uint32_t kept;	 /* 1: the room has its stack at `from` */
	uint32_t pauses; /* that it is in, one of each program that counts them */
	char waker_comm[EBT_COMM_BYTES]; /* aligned to words */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sched_thread);
} ebt_threads __weak SEC(".maps");

/* Set before load: stacks are kept where a thread leaves its CPU in a pause, and nowhere else. */
const volatile uint32_t ebt_offcpu_in_pauses __weak = 0;

static __always_inline struct sched_thread *threads_of_pause(struct task_struct *task)
{
	return ebt_offcpu_in_pauses ? bpf_task_storage_get(&ebt_threads, task, 0, 0) : 0;
}

static __always_inline void threads_enter_pause(struct task_struct *task)
{
	struct sched_thread *t = threads_of_pause(task);
	if (t)
		t->pauses++;
}

/* The thread may have been in its pause already when it was first known. */
static __always_inline void threads_leave_pause(struct task_struct *task)
{
	struct sched_thread *t = threads_of_pause(task);
	if (t && t->pauses)
		t->pauses--;
}

#endif
