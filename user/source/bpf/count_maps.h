/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps of the kernel in which events are counted, for counted.h. */
#ifndef SOURCE_BPF_COUNT_MAPS_H
#define SOURCE_BPF_COUNT_MAPS_H

#include "source/bpf/counted.h"
#include "source/bpf/kernel.h"

/* No lanes yet. *maps and the reader are kept. coarse: as the programs were loaded. */
void bpf_count_maps_open(const struct bpf_kernel *k, bool coarse, struct bpf_count_maps *maps,
			 const struct tally_reader *reader, struct bpf_counted *ret);

#endif
