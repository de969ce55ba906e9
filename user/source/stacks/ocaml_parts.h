/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C of a stack with OCaml: what OCaml has called, and what has called OCaml again, each unwound
 * from what was copied of it.
 */
#ifndef SOURCE_STACKS_OCAML_PARTS_H
#define SOURCE_STACKS_OCAML_PARTS_H

#include "source/stacks/c_stack.h"
#include "source/stacks/ocaml_stack.h"

/* Initialised by count 0 and no gap. */
struct ocaml_parts {
	struct ocaml_stack_c c[1 + EBT_OCAML_CALLBACKS];
	uint64_t address[1 + EBT_OCAML_CALLBACKS][CODE_STACK_MAX];
	size_t count;
	bool has_gap; /* frames are missing between a part and the OCaml that called it */
};

/* Adds C with `frames` frames of OCaml inside. */
void ocaml_parts_add(const struct c_stack_of *of, struct ocaml_parts *p,
		     const struct unwind_image *image, size_t frames);
/* Adds the calls of OCaml by C. The first `skip` frames of OCaml are left out of the stack. */
void ocaml_parts_add_callbacks(const struct c_stack_of *of, struct ocaml_parts *p,
			       const struct ebt_ocaml_callbacks *callbacks, size_t skip);

#endif
