/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps of the kernel in which events are counted, for counted.h. */
#ifndef SOURCE_BPF_COUNT_MAPS_H
#define SOURCE_BPF_COUNT_MAPS_H

#include "source/bpf/counted.h"
#include "source/bpf/kernel.h"

/* *maps is kept. */
struct bpf_count_access bpf_count_maps_access(struct bpf_count_maps *maps);

#endif
