/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Numbers of processes and threads in the tracer's pid namespace; 0: it has none there. */
#ifndef EBTRACE_PIDNS_BPF_H
#define EBTRACE_PIDNS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Levels of pid namespaces that the kernel allows. */
#define MAX_PIDNS_LEVELS 33

/* Set before load if the tracer is not in the initial namespace; then the verifier keeps the code
 * for this. */
const volatile uint64_t ebt_pidns_ino __weak = 0;

/* bpf_get_ns_current_pid_tgid() has no number for tasks in namespaces below the tracer's. */
static __always_inline uint32_t pidns_number(struct pid *pid)
{
	uint32_t top = BPF_CORE_READ(pid, level);
	for (uint32_t i = 0; i < MAX_PIDNS_LEVELS && i <= top; i++) {
		struct upid upid = {};
		bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]);
		if (BPF_CORE_READ(upid.ns, ns.inum) == (uint32_t)ebt_pidns_ino)
			return (uint32_t)upid.nr;
	}
	return 0;
}

/* Of the task's process (tgid). */
static __always_inline uint32_t pidns_process(struct task_struct *task)
{
	if (!ebt_pidns_ino)
		return (uint32_t)BPF_CORE_READ(task, tgid);
	return pidns_number(BPF_CORE_READ(task, group_leader, thread_pid));
}

/* The same by a typed pointer to the task. */
static __always_inline uint32_t pidns_process_of(struct task_struct *task)
{
	if (!ebt_pidns_ino)
		return (uint32_t)task->tgid;
	return pidns_number(BPF_CORE_READ(task, group_leader, thread_pid));
}

/* Of the task itself, to which the program has a typed pointer. */
static __always_inline uint32_t pidns_thread(struct task_struct *task)
{
	if (!ebt_pidns_ino)
		return (uint32_t)task->pid;
	return pidns_number(BPF_CORE_READ(task, thread_pid));
}

static __always_inline uint32_t pidns_current_process(void)
{
	if (!ebt_pidns_ino)
		return (uint32_t)(bpf_get_current_pid_tgid() >> 32);
	return pidns_process(bpf_get_current_task_btf());
}

static __always_inline uint32_t pidns_current_thread(void)
{
	if (!ebt_pidns_ino)
		return (uint32_t)bpf_get_current_pid_tgid();
	return pidns_thread(bpf_get_current_task_btf());
}

#endif
