/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks in the session of OCaml native code, whose frames have descriptors (bpf/abi.h). Frames are
 * named by the descriptors' debug information (runtime/ocaml_frames.h), else by symbols; glue that the
 * compiler makes is left out. A stack
 * that is not whole has a frame outside of all others that says so, and words that no sample stands
 * for have one frame, their name.
 */
#ifndef SOURCE_OCAML_STACK_H
#define SOURCE_OCAML_STACK_H

#include "bpf/abi.h"
#include "source/code_frames.h"

struct ocaml_stack {
	const struct ebt_alloc_record *record; /* of an OCaml allocation */
	const struct ebt_ocaml_frame *frame;   /* the innermost first */
	size_t frames;
	uint32_t words; /* set: of the object, if it is one of several; 0: the record has them */
};

/* The stack of a record, as of code_frames_stack(). 0 or -ENOMEM. */
int ocaml_stack_push(struct code_frames *c, struct code_map *map, pid_t pid, struct ocaml_stack *s,
		     uint32_t *ret);

#endif
