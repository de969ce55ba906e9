/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the allocations of an OCaml 5 program can be probed without any preparation: the functions
 * that native code calls when its minor heap is used up and for large allocations, and what is
 * needed to walk its stacks: the runtime's table of frame descriptors, and offsets that differ from
 * release to release.
 */
#ifndef RUNTIME_OCAML_ALLOCS_H
#define RUNTIME_OCAML_ALLOCS_H

#include "runtime/ocaml/probes.h"

enum ocaml_alloc_function {
	OCAML_ALLOC_SMALL, /* the minor heap, or half of it, is used up: state, words, flags */
	OCAML_ALLOC_LARGE, /* outside of the minor heap: words */
	OCAML_ALLOC_LIFE,  /* a domain begins or ends: which of it */
	OCAML_ALLOC_EXIT,  /* the program ends */
	OCAML_ALLOC_INPUT, /* a marshalled value is about to be read */
	OCAML_ALLOC_READ,  /* it was read */
};

#define OCAML_ALLOC_SITES 12

struct ocaml_alloc_site {
	enum ocaml_alloc_function function;
	uint64_t offset; /* of the instruction in the file */
};

struct ocaml_allocs {
	struct ocaml_alloc_site site[OCAML_ALLOC_SITES];
	uint32_t sites;
	uint64_t frames;  /* address of the table in the file's address space */
	bool is_indirect; /* it is a pointer to the table */
	/* Offsets in the domain's state. Behind minor_words are promoted_words and major_words; of
	 * the major heap's words allocated_words are not in these yet. */
	uint32_t trigger, minor_words, allocated_words;
	uint32_t current_stack, c_stack; /* also in the domain's state */
	uint32_t first_frame;		 /* of a stack, from its saved stack pointer */
	/* Of the runtime's code that calls C and saves where OCaml's stack is; in the file's
	 * address space. */
	uint64_t glue, glue_end;
};

/* r: of the same file; afterwards it has the place of caml_state. 0; -ENOENT: it has no native
 * code; -ENOTSUP: its code is unknown; -errno. */
int ocaml_allocs_read(int fd, struct ocaml_runtime *r, struct ocaml_allocs *ret);

#endif
