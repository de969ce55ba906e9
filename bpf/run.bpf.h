/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* When the run begins: probes are attached one after another, to processes that run. */
#ifndef EBT_RUN_BPF_H
#define EBT_RUN_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* In .bss; the tracer writes it. */
uint64_t ebt_run_begin_ns __weak = 0;

/* What is before it is neither counted nor sampled. */
static __always_inline int run_has_begun(uint64_t ns)
{
	return ns >= *(volatile uint64_t *)&ebt_run_begin_ns;
}

#endif
