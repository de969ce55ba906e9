/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attacher for the functions of OCaml 5 runtimes. A runtime is probed only while its own ring
 * is off: a ring has the same events at a hundredth of the cost. Each update checks the ring's
 * flag; between updates the BPF program reads it at each hit, so no event is emitted twice.
 */
#ifndef SOURCE_BPF_ATTACH_OCAML_H
#define SOURCE_BPF_ATTACH_OCAML_H

#include "bpf/abi.h"
#include "runtime/ocaml/allocs.h"
#include "source/bpf/attacher.h"

/* The domains of runtime n (from 0) of a process are numbered from n times this. */
#define ATTACH_OCAML_DOMAINS 128

/* How to walk the stacks of a runtime. bias: the process has it at the file's addresses + bias. */
struct ebt_ocaml_stacks attach_ocaml_stacks(const struct ocaml_allocs *a, uint64_t bias);

#endif
