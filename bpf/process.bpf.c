// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * Follows traced processes: a child of a traced process is traced from its first instruction, so it
 * gets its slot at the fork itself, from those that the tracer has reserved. Forks, exec and exits
 * are reported. Threads are not processes: only a new thread group counts, and only the end of its
 * last thread is its exit: no record of its slot comes after that one. Pids, also those in the map,
 * are the tracer's namespace's.
 */
#include "slots.bpf.h"

/* Follow children; set before load. */
const volatile uint8_t ebt_follow = 1;

/* Notice execs; set before load. */
const volatile uint8_t ebt_notice_execs = 0;

/* Notices of them, a page: they are read within a millisecond. One that has no room is missing, and
 * its program is not stopped. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ebt_exec_notices SEC(".maps");

SEC("raw_tp/sched_process_fork")
int ebt_process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	if (!ebt_follow || BPF_CORE_READ(parent, tgid) == BPF_CORE_READ(child, tgid))
		return 0;
	struct ebt_process_record rec = {};
	rec.pid = pidns_process(parent);
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &rec.pid);
	if (!slot)
		return 0;
	rec.head.slot = *slot;
	uint32_t child_pid = pidns_process(child), child_slot;
	if (!child_pid || slots_assign(child_pid, BPF_ANY, &child_slot)) {
		__sync_fetch_and_add(&ebt_dropped.children, 1);
		return 0;
	}
	rec.head.site = EBT_PROCESS_FORK;
	rec.start_boot_ns = process_start(child);
	rec.clock_ahead_ns = clock_ahead_of(child);
	rec.child_pid = child_pid;
	rec.child_slot = child_slot;
	rec.shares_memory = BPF_CORE_READ(parent, mm) == BPF_CORE_READ(child, mm);
	/* Other threads may have names of their own. */
	if (BPF_CORE_READ(parent, pid) == BPF_CORE_READ(parent, tgid))
		bpf_get_current_comm(rec.comm, sizeof(rec.comm));
	slots_emit(&rec);
	return 0;
}

static __always_inline void notice_exec(uint32_t pid, uint64_t ts)
{
	if (!ebt_notice_execs)
		return;
	struct ebt_exec_notice *notice = bpf_ringbuf_reserve(&ebt_exec_notices, sizeof(*notice), 0);
	if (!notice)
		return;
	*notice = (struct ebt_exec_notice){.ts = ts, .pid = pid};
	bpf_ringbuf_submit(notice, BPF_RB_FORCE_WAKEUP);
}

/* With the file: the process may end before the tracer can inspect it. */
SEC("raw_tp/sched_process_exec")
int ebt_process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct linux_binprm *bprm = (void *)ctx->args[2];
	struct inode *inode = BPF_CORE_READ(bprm, file, f_inode);
	uint32_t pid = pidns_process((void *)ctx->args[0]);
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	if (!slot && !(ebt_everyone && pid))
		return 0;
	uint64_t ts = clock_now();
	if (slot)
		notice_exec(pid, ts);
	struct ebt_process_record *rec =
		bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec) + EBT_ROOM_PATH, 0);
	if (!rec) {
		__sync_fetch_and_add(&ebt_dropped.control, 1);
		return 0;
	}
	channel_head(&rec->head, EBT_RECORD_PROCESS, slot ? *slot : EBT_NO_SLOT, EBT_PROCESS_EXEC);
	rec->ts = ts;
	rec->dropped = channel_dropped();
	rec->pid = pid;
	rec->start_boot_ns = process_start((void *)ctx->args[0]);
	rec->clock_ahead_ns = clock_ahead_of((void *)ctx->args[0]);
	rec->child_pid = rec->child_slot = rec->shares_memory = 0;
	bpf_get_current_comm(rec->comm, sizeof(rec->comm));
	rec->inode = BPF_CORE_READ(inode, i_ino);
	rec->device = BPF_CORE_READ(inode, i_sb, s_dev);
	long bytes = bpf_probe_read_kernel_str(rec + 1, EBT_ROOM_PATH, BPF_CORE_READ(bprm, interp));
	rec->head.size = bytes > 0 && bytes < EBT_ROOM_PATH ? (uint16_t)bytes : 0;
	rec->mm = (uint64_t)BPF_CORE_READ((struct task_struct *)ctx->args[0], mm);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

#define VM_EXEC 4 /* include/linux/mm.h */

/* The mappings of a process that come within wait_ns of one that was reported are not: what it has
 * mapped is read for some time (EXEC_NS of engine/live/everyone.c). A program that maps code all
 * the time, as some compilers do, has its wait doubled. Processes with the same row replace each
 * other. */
#define MAPPED_ROWS	   256
#define MAPPED_WAIT_NS	   10000000ull
#define MAPPED_WAIT_MAX_NS 1000000000ull
static struct mapped_row {
	uint64_t at_ns, wait_ns;
	uint32_t pid;
} mapped_rows[MAPPED_ROWS];

static __always_inline int has_just_mapped(uint32_t pid, uint64_t now)
{
	struct mapped_row *row = &mapped_rows[pid % MAPPED_ROWS];
	uint64_t passed = now - row->at_ns, wait = row->wait_ns;
	if (row->pid == pid && passed < wait)
		return 1;
	int again = row->pid == pid && passed < 2 * MAPPED_WAIT_MAX_NS;
	row->wait_ns = !again || !wait		       ? MAPPED_WAIT_NS
		       : 2 * wait < MAPPED_WAIT_MAX_NS ? 2 * wait
						       : MAPPED_WAIT_MAX_NS;
	row->at_ns = now;
	row->pid = pid;
	return 0;
}

/* Called for each mapping of the machine: all but code of files is left at once. The tracer reads
 * the records when it looks for new processes, and is not woken for them. */
SEC("fentry/perf_event_mmap")
int ebt_code_mapped(uint64_t *ctx)
{
	const struct vm_area_struct *vma = (void *)ctx[0];
	if (!(vma->vm_flags & VM_EXEC) || !vma->vm_file)
		return 0;
	uint32_t pid = pidns_process_of(bpf_get_current_task_btf());
	uint64_t now = clock_now();
	if (!pid || has_just_mapped(pid, now))
		return 0;
	struct ebt_mapped_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec)
		return 0; /* its size shows the mapping later */
	channel_head(&rec->head, EBT_RECORD_MAPPED, EBT_NO_SLOT, 0);
	rec->ts = now;
	rec->dropped = channel_dropped();
	rec->pid = pid;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int ebt_process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	/* Already counted down by the exiting thread: 0 is the last one, whichever it is. */
	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	struct ebt_process_record rec = {};
	rec.pid = pidns_process(task);
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &rec.pid);
	if (!slot)
		return 0;
	rec.head.slot = *slot;
	rec.head.site = EBT_PROCESS_EXIT;
	rec.start_boot_ns = process_start(task);
	bpf_map_delete_elem(&ebt_traced, &rec.pid);
	slots_emit(&rec);
	return 0;
}
