/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of all attachers. */
#ifndef SOURCE_BPF_ATTACHERS_H
#define SOURCE_BPF_ATTACHERS_H

#include "source/bpf/attacher.h"

extern const struct attacher attach_markers, attach_ocaml, attach_alloc, attach_ocaml_alloc,
	attach_usdt, attach_ocaml_samples;

#define ATTACHERS 6
extern const struct attacher *const attachers[ATTACHERS];

#endif
