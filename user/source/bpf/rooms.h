/* SPDX-License-Identifier: BSD-2-Clause */
/* How many threads that do not run have room for their stacks in the kernel. */
#ifndef SOURCE_BPF_ROOMS_H
#define SOURCE_BPF_ROOMS_H

#include <stdint.h>

#include "source/bpf/plan.h"

/* 0: no stacks are wanted. */
uint32_t bpf_rooms(const struct probe_plan *plan);

#endif
