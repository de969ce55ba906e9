/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The channel from the BPF programs to the tracer: one ring buffer, the counts of dropped records,
 * and the traced processes, shared by every object that is linked into the skeleton (weak: the
 * linker keeps one of each). Events do not wake the tracer: a wake-up costs the traced program ten
 * times the record itself. The tracer polls by a timer; only control records, which are rare, wake
 * it.
 */
#ifndef EBTRACE_BPF_CHANNEL_H
#define EBTRACE_BPF_CHANNEL_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "abi.h"
#include "budget.bpf.h"
#include "clock.bpf.h"
#include "pidns.bpf.h"

/* The tracer sets the size before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ebt_channel __weak SEC(".maps");

/* Slots of the traced processes, by pid in the tracer's namespace. The tracer adds the first ones,
 * forks add theirs. It sets the size before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, uint32_t);
	__type(value, uint32_t);
} ebt_traced __weak SEC(".maps");

/* All processes of the machine are traced: each exec is reported, without a slot if the process is
 * not known yet, and a probe may be in a process without one. Set before load. */
const volatile uint8_t ebt_everyone __weak = 0;

/* In .bss, which the tracer has mapped: reading it costs no system call. */
struct ebt_dropped ebt_dropped __weak = {};

static __always_inline void channel_drop_event(uint64_t pos)
{
	if (pos == EBT_NO_POS)
		__sync_fetch_and_add(&ebt_dropped.nowhere, 1);
	else
		__sync_fetch_and_add(&ebt_dropped.in_ring, 1);
}

/* Room for the record of an event with this position in its ring, or EBT_NO_POS; NULL: there is
 * none, or the budget leaves the event out. The bytes must be a compile-time constant. */
static __always_inline void *channel_reserve(const uint64_t bytes, uint64_t pos)
{
	return budget_leaves(pos) ? 0 : bpf_ringbuf_reserve(&ebt_channel, bytes, 0);
}

/* For a record that has been reserved: what its thread has dropped is in this count. */
static __always_inline uint32_t channel_dropped(void)
{
	return (uint32_t) * (volatile uint64_t *)&ebt_dropped.nowhere;
}

static __always_inline void channel_head(struct ebt_record *head, uint16_t type, uint32_t slot,
					 uint16_t site)
{
	head->type = type;
	head->size = 0;
	head->slot = slot;
	head->site = site;
	head->cpu = (uint16_t)bpf_get_smp_processor_id();
	head->tid = pidns_current_thread();
}

#endif
