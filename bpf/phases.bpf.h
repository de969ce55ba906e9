/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* What programs know of phases: in which the mutator may run. In any other, known or not, it
 * stops. */
#ifndef EBT_PHASES_BPF_H
#define EBT_PHASES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "abi.h"

/* By numbering. Set before load. */
const volatile struct ebt_phase_set ebt_phases_run[EBT_NUMBERINGS] __weak = {};

static __always_inline int phase_stops(uint32_t numbering, uint32_t phase)
{
	if (numbering >= EBT_NUMBERINGS || phase >= EBT_PHASE_IDS)
		return 1;
	/* The compiler may test the bound in ways that the verifier does not see. */
	asm volatile("" : "+r"(numbering), "+r"(phase));
	const volatile struct ebt_phase_set *run =
		&ebt_phases_run[numbering & (EBT_NUMBERINGS - 1)];
	return !(run->bits[phase / 64 & (EBT_PHASE_IDS / 64 - 1)] >> (phase & 63) & 1);
}

#endif
