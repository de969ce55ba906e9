/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacher for the markers of sampled allocations (runtime/alloc_markers.h), if the run asks
 * for them. Where a file has our own, OpenTelemetry's that fire with them are used for the sample
 * rate alone. A site whose arguments cannot be read is reported and not attached.
 */
#ifndef SOURCE_BPF_ATTACH_ALLOC_H
#define SOURCE_BPF_ATTACH_ALLOC_H

#include "source/bpf/attacher.h"

extern const struct attacher attach_alloc;

#endif
