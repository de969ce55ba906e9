/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an OCaml runtime whose allocations are probed has allocated and no sample stands for: domains
 * that never used up half of their minor heap before it was emptied, and large allocations beyond
 * the limit of the rate.
 */
#ifndef SOURCE_BPF_OCAML_H
#define SOURCE_BPF_OCAML_H

#include "source/bpf_kernel.h"
#include "source/bpf_records.h"

/*
 * The probes of the runtime are about to be removed: adds the records of the rest. carry: the part of a
 * sample that was left over by the runtimes before, of which each may have little; initially 0.5, so
 * that the first one's is rounded.
 */
void bpf_ocaml_rest(struct bpf_kernel *k, struct bpf_records *in, uint32_t key, double *carry);

#endif
