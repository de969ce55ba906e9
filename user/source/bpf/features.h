/* SPDX-License-Identifier: BSD-2-Clause */
/* Which features of the BPF programs (kernel.h) a run needs, and how much of them, by its
 * options. */
#ifndef SOURCE_BPF_FEATURES_H
#define SOURCE_BPF_FEATURES_H

#include "source/bpf/kernel.h"
#include "source/bpf/plan.h"

/* A set of enum bpf_feature. */
unsigned bpf_features_wanted(const struct probe_plan *opt);
/* How many threads that do not run have room for their stacks in the kernel; 0: none. */
uint32_t bpf_features_rooms(const struct probe_plan *opt);
/* 0, or why nothing of what is asked for can be done: -errno, and a line of BPF_REASON_BYTES. */
int bpf_features_check(const struct bpf_kernel *k, const struct probe_plan *opt, char *reason);
/* Page faults of one process are not timed, although those of others may be. */
void bpf_features_report_untimed(const struct messages *messages, pid_t pid, int err);
/* Hits of the probes so far, on all CPUs. */
struct ebt_hits bpf_features_hits(const struct bpf_kernel *k);

#endif
