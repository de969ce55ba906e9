/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of OCaml native code in the session. Frames have descriptors (bpf/abi.h). They are named
 * by the descriptors' debug information (runtime/ocaml/frames.h), else by symbols; glue that the
 * compiler makes is left out. A stack may have a frame outside of all others that is only a name.
 */
#ifndef SOURCE_STACKS_OCAML_STACK_H
#define SOURCE_STACKS_OCAML_STACK_H

#include "bpf/abi.h"
#include "session/traits.h"
#include "source/stacks/code_frames.h"

/* C between OCaml, or on top of it. */
struct ocaml_stack_c {
	size_t frames; /* of OCaml inside of it */
	struct code_stack code;
};

struct ocaml_stack {
	const struct ebt_ocaml_frame *frame; /* the innermost first */
	size_t frames;
	const struct ocaml_stack_c *c; /* the innermost first */
	size_t c_count;
	struct runtime_version version;
	const char *outer;   /* the name of a frame outside of all others; NULL: none */
	bool is_combined;    /* the innermost may make several allocations at once, */
	uint64_t free_words; /* with this number of words free above the trigger */
	uint32_t words; /* set: of the object, if it is one of several; 0: the record has them */
};

/* The stack, as of code_frames_stack(). 0 or -ENOMEM. */
int ocaml_stack_push(struct code_frames *c, struct code_map *map, pid_t pid, struct ocaml_stack *s,
		     uint32_t *ret);

#endif
