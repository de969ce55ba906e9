// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Follows traced processes: a child of a traced process is traced from its first instruction, so
 * the tracer is told of it at the fork itself; exec and exit are told too. Threads are not
 * processes: only a new thread group counts, and only the end of its last thread is its exit.
 * Pids, also those in the map, are the tracer's namespace's.
 */
#include "channel.bpf.h"

#include <bpf/bpf_core_read.h>

/* Levels of pid namespaces that the kernel allows. */
#define MAX_PIDNS_LEVELS 33

/* Follow children; set before load. */
const volatile uint8_t ebt_follow = 1;

/* The pid (tgid) of the task's process in the tracer's namespace, 0 if it has none there. */
static __always_inline uint32_t process_pid(struct task_struct *task)
{
	if (!ebt_pidns_ino)
		return BPF_CORE_READ(task, tgid);
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	uint32_t top = BPF_CORE_READ(pid, level);
	for (uint32_t i = 0; i < MAX_PIDNS_LEVELS && i <= top; i++) {
		struct upid upid = {};
		bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]);
		if (BPF_CORE_READ(upid.ns, ns.inum) == (uint32_t)ebt_pidns_ino)
			return (uint32_t)upid.nr;
	}
	return 0;
}

/* With the file: the process may have ended before anybody can look which it is. */
static __always_inline int tell_exec(uint32_t pid, struct linux_binprm *bprm)
{
	struct inode *inode = BPF_CORE_READ(bprm, file, f_inode);
	channel_control(bpf_ktime_get_ns(), BPF_CORE_READ(inode, i_ino), pid, EBT_PROCESS,
			EBT_PROCESS_EXEC, BPF_CORE_READ(inode, i_sb, s_dev));
	return 0;
}

SEC("raw_tp/sched_process_fork")
int ebt_process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	if (!ebt_follow || BPF_CORE_READ(parent, tgid) == BPF_CORE_READ(child, tgid))
		return 0;
	uint32_t pid = process_pid(parent);
	if (!bpf_map_lookup_elem(&ebt_traced, &pid))
		return 0;
	uint32_t child_pid = process_pid(child);
	uint8_t one = 1;
	if (!child_pid || bpf_map_update_elem(&ebt_traced, &child_pid, &one, BPF_ANY)) {
		__sync_fetch_and_add(&ebt_dropped.control, 1);
		return 0;
	}
	uint8_t shares = BPF_CORE_READ(parent, mm) == BPF_CORE_READ(child, mm);
	channel_control(bpf_ktime_get_ns(), shares ? EBT_FORK_SHARES_MEMORY : EBT_NO_POS, pid,
			EBT_PROCESS, EBT_PROCESS_FORK, child_pid);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int ebt_process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t pid = process_pid((void *)ctx->args[0]);
	if (!bpf_map_lookup_elem(&ebt_traced, &pid))
		return 0;
	return tell_exec(pid, (void *)ctx->args[2]);
}

SEC("raw_tp/sched_process_exit")
int ebt_process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	/* Already counted down by the exiting thread: 0 is the last one, whichever it is. */
	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	uint32_t pid = process_pid(task);
	if (!bpf_map_lookup_elem(&ebt_traced, &pid))
		return 0;
	bpf_map_delete_elem(&ebt_traced, &pid);
	channel_control(bpf_ktime_get_ns(), EBT_NO_POS, pid, EBT_PROCESS, EBT_PROCESS_EXIT, 0);
	return 0;
}
