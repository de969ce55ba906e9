/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Slots for processes that BPF programs find by themselves: children of traced ones, and, where all
 * processes are traced, those that pass a probe before the tracer has found them.
 */
#ifndef EBT_SLOTS_BPF_H
#define EBT_SLOTS_BPF_H

#include "channel.bpf.h"

/* The tracer refills them at each poll. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, EBT_FREE_SLOTS);
	__type(value, uint32_t);
} ebt_free_slots __weak SEC(".maps");

/* The tracer's own process; set before load. */
const volatile uint32_t ebt_own_pid __weak = 0;

#define OWN_DEPTH 4 /* generations of what the tracer starts, as in engine/live/everyone.c */

static __always_inline uint64_t process_start(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

/* The process gets a slot. Nonzero: there is none, or, by these flags of the update, it has one. */
static __always_inline int slots_assign(uint32_t pid, uint64_t flags, uint32_t *ret_slot)
{
	if (bpf_map_pop_elem(&ebt_free_slots, ret_slot))
		return 1;
	if (!bpf_map_update_elem(&ebt_traced, &pid, ret_slot, flags))
		return 0;
	bpf_map_push_elem(&ebt_free_slots, ret_slot, 0);
	return 1;
}

/* Wakes the tracer. */
static __always_inline void slots_emit(const struct ebt_process_record *from)
{
	struct ebt_process_record *rec = bpf_ringbuf_reserve(&ebt_channel, sizeof(*rec), 0);
	if (!rec) {
		__sync_fetch_and_add(&ebt_dropped.control, 1);
		return;
	}
	*rec = *from;
	channel_head(&rec->head, EBT_RECORD_PROCESS, from->head.slot, from->head.site);
	rec->ts = clock_now();
	rec->dropped = channel_dropped();
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

/* The tracer itself, and what it has started. */
static __always_inline int slots_is_own(struct task_struct *task)
{
	for (uint32_t i = 0; i < OWN_DEPTH; i++) {
		if (pidns_process(task) == ebt_own_pid)
			return 1;
		task = BPF_CORE_READ(task, real_parent);
	}
	return 0;
}

/*
 * The current process is traced from now on, where all are: the tracer may not have found it yet.
 * Nonzero: it is not, as it is the tracer's own, or, which is counted as an event that is lost, no
 * slot is free.
 */
static __always_inline int slots_adopt(uint32_t *ret_slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ebt_process_record rec = {};
	rec.child_pid = pidns_current_process();
	if (!rec.child_pid || slots_is_own(task))
		return 1;
	if (slots_assign(rec.child_pid, BPF_NOEXIST, &rec.child_slot)) {
		/* Another thread of it may have been here. */
		const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &rec.child_pid);
		if (!slot)
			channel_drop_event(EBT_NO_POS);
		*ret_slot = slot ? *slot : EBT_NO_SLOT;
		return !slot;
	}
	rec.head.site = EBT_PROCESS_FORK;
	rec.head.slot = EBT_NO_SLOT;
	rec.start_boot_ns = process_start(task);
	rec.clock_ahead_ns = clock_ahead_of(task);
	bpf_get_current_comm(rec.comm, sizeof(rec.comm));
	slots_emit(&rec);
	*ret_slot = rec.child_slot;
	return 0;
}

#endif
