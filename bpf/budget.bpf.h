/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the tracer does without while it is over its budget, and what the probes are hit for it to
 * know what they cost. An event that makes no record is counted as one for which the ring buffer
 * has no room (struct ebt_dropped). Unless the tracer asks for it before it loads the programs, the
 * verifier removes all of this.
 */
#ifndef EBT_BUDGET_BPF_H
#define EBT_BUDGET_BPF_H

#include "abi.h"

/* Set before load. */
const volatile uint8_t ebt_budgeted __weak = 0;

/* In .bss, which the tracer has mapped: the tracer writes the level, and reads the hits. */
uint32_t ebt_level __weak = EBT_LEVEL_EVENTS;
struct ebt_hits ebt_hits[EBT_HITS_CPUS] __weak = {};

/* A hit of a probe; in_ring: its event is in a ring, too. A task that interrupts another one here
 * may take a hit from it. */
static __always_inline void budget_hit(uint32_t probe, int in_ring)
{
	if (!ebt_budgeted)
		return;
	struct ebt_hits *h = &ebt_hits[bpf_get_smp_processor_id() & (EBT_HITS_CPUS - 1)];
	h->hits[probe & (EBT_HITS_PROBES - 1)]++;
	if (in_ring)
		h->in_ring++;
}

/* True if the event with this position in its ring (EBT_NO_POS: none) makes no record now. */
static __always_inline int budget_leaves(uint64_t pos)
{
	if (!ebt_budgeted)
		return 0;
	uint32_t level = *(volatile uint32_t *)&ebt_level;
	return level >= EBT_LEVEL_COUNTS || (level >= EBT_LEVEL_RINGS && pos != EBT_NO_POS);
}

#endif
