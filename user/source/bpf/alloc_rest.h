/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations of a probed OCaml runtime without samples: those of each domain since its last
 * sample, and large allocations beyond the limit of the rate.
 */
#ifndef SOURCE_BPF_ALLOC_REST_H
#define SOURCE_BPF_ALLOC_REST_H

#include "source/bpf/kernel.h"
#include "source/bpf/records.h"

/* The probes of the runtime are about to be removed: adds the records of the rest. */
void bpf_alloc_rest(struct bpf_kernel *k, struct memory_reader *memory, struct bpf_records *in,
		    uint32_t key);

#endif
