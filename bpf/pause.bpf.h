/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the kernel has counted of a thread in each of its pauses: read from its task at the begin
 * and at the end of the outermost phase that stops the mutator, where a probe stands anyway. A
 * begin and an end that are not of the outermost phase cost one comparison. An outermost phase of
 * which the end is not seen (a ring was switched on, an exception passed through C) ends with the
 * next end of its kind, as it does for whoever reads the events.
 */
#ifndef EBT_PAUSE_BPF_H
#define EBT_PAUSE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "faults.bpf.h"
#include "threads.bpf.h"

/* Members of struct ebt_pause_counts that the kernel counts, and what they are of a struct
 * task_struct. */
#define PAUSE_MEMBERS(X)                   \
	X(run_delay, sched_info.run_delay) \
	X(voluntary, nvcsw)                \
	X(involuntary, nivcsw)             \
	X(minor_faults, min_flt)           \
	X(major_faults, maj_flt)           \
	X(migrations, se.nr_migrations)

/* The pause of a thread. Zeroed memory: it is in none. */
struct pause {
	uint32_t phase; /* the outermost */
	uint32_t depth; /* phases of this number that are open; 0: no pause */
	uint64_t begin_ts;
	struct ebt_pause_counts begin;
};

/* What has been counted of the thread up to now. */
static __always_inline void pause_read(struct ebt_pause_counts *u, struct task_struct *task)
{
#define READ(member, of_task) \
	u->member = bpf_core_field_exists(task->of_task) ? task->of_task : EBT_PAUSE_UNKNOWN;
	PAUSE_MEMBERS(READ)
#undef READ
}

/* What has been counted in a pause that has just ended. */
static __always_inline void pause_of(struct ebt_pause_counts *u, const struct pause *p,
				     struct task_struct *task)
{
	pause_read(u, task);
#define SUBTRACT(member, of_task)                 \
	if (bpf_core_field_exists(task->of_task)) \
		u->member -= p->begin.member;
	PAUSE_MEMBERS(SUBTRACT)
#undef SUBTRACT
	u->fault_ns = ebt_faults_on ? p->begin.fault_ns : EBT_PAUSE_UNKNOWN;
}

/* A phase begins that stops the mutator. */
static __always_inline void pause_begin(struct pause *p, uint32_t phase, uint64_t ts,
					struct task_struct *task)
{
	if (!p->depth) {
		p->phase = phase;
		p->depth = 1;
		p->begin_ts = ts;
		pause_read(&p->begin, task);
		if (ebt_faults_on)
			p->begin.fault_ns = faults_enter(task);
		threads_enter_pause(task);
	} else if (p->phase == phase) {
		p->depth++;
	}
}

/* The thread is in no pause from now on. `begin.fault_ns` becomes that of the pause. */
static __always_inline void pause_leave(struct pause *p, struct task_struct *task)
{
	p->depth = 0;
	if (ebt_faults_on)
		p->begin.fault_ns = faults_leave(task) - p->begin.fault_ns;
	threads_leave_pause(task);
}

/* A phase ends. Nonzero: the pause does. */
static __always_inline int pause_end(struct pause *p, uint32_t phase, struct task_struct *task)
{
	if (!p->depth || p->phase != phase)
		return 0;
	if (p->depth > 1) {
		p->depth--;
		return 0;
	}
	pause_leave(p, task);
	return 1;
}

/* The end of the pause will not be seen. */
static __always_inline void pause_drop(struct pause *p, struct task_struct *task)
{
	if (p->depth)
		pause_leave(p, task);
}

#endif
