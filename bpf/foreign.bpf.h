/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Which process a hit is of, where one link probes a file in all processes that run it; how often
 * those hit it that are not traced, which pay for nothing; and how such a link goes.
 */
#ifndef EBT_FOREIGN_BPF_H
#define EBT_FOREIGN_BPF_H

#include "channel.bpf.h"

/* By the key of the link. The tracer sets the size before it loads this. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ebt_foreign __weak SEC(".maps");

/* EBT_HANDOVER */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBT_HANDOVERS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} ebt_handover __weak SEC(".maps");

/* Nonzero: another link counts the hit at that time. */
static __always_inline int foreign_leaves(uint64_t cookie, uint64_t ts)
{
	uint32_t at = EBT_COOKIE_KEY(cookie) % EBT_HANDOVERS;
	if (!(cookie >> EBT_KEY_SHIFT))
		return 0;
	const volatile uint64_t *now = bpf_map_lookup_elem(&ebt_handover, &at);
	uint64_t handover = now ? *now : 0, from = EBT_HANDOVER_FROM_NS(handover);
	if (EBT_COOKIE_KEY(cookie) != EBT_HANDOVER_KEY(handover))
		return 0;
	int is_over = from && ts >= from;
	return cookie & EBT_SHARED_COOKIE ? is_over : !is_over;
}

/* Nonzero: the process is not traced. */
static __always_inline int foreign_slot(uint32_t *ret_slot)
{
	uint32_t pid = pidns_current_process();
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	*ret_slot = slot ? *slot : EBT_NO_SLOT;
	return !slot;
}

/* As foreign_slot(), which is counted. */
static __always_inline int foreign_find(uint32_t key, uint32_t *ret_slot)
{
	if (!foreign_slot(ret_slot))
		return 0;
	uint64_t *n = bpf_map_lookup_elem(&ebt_foreign, &key);
	if (n)
		*n += 1;
	return 1;
}

#endif
