/* SPDX-License-Identifier: BSD-2-Clause */
/* The numberings of phases that the BPF programs know (bpf/abi.h). */
#ifndef SOURCE_BPF_NUMBERINGS_H
#define SOURCE_BPF_NUMBERINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/counts.h"
#include "session/traits.h"

/* The numbering of a runtime's phases. */
unsigned numberings_of(struct runtime_version version);
/* The canonical id of a number; false: no phase that is known has it. */
bool numberings_phase(unsigned numbering, uint32_t number, uint32_t *ret_id);
/* In which phases the mutator may run. */
void numberings_set_runs(struct ebt_phase_set ret[EBT_NUMBERINGS]);
/* The rows that count phases (bpf/counts.h). */
void numberings_set_rows(uint16_t ret[EBT_NUMBERINGS][EBT_PHASE_IDS]);

#endif
