/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacher of OCaml 5 programs whose allocations are sampled without any preparation
 * (runtime/ocaml/allocs.h), for runs that are for allocations alone. A file with markers of sampled
 * allocations is left to these.
 */
#ifndef SOURCE_BPF_ATTACH_OCAML_ALLOC_H
#define SOURCE_BPF_ATTACH_OCAML_ALLOC_H

#include "source/bpf/attacher.h"

extern const struct attacher attach_ocaml_alloc;

#endif
