/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks in the session of C code, of what BPF programs have recorded of them (bpf/c_stack.bpf.h).
 * They are unwound as elf/unwind.h has it: a stack ends before the first address that is in no
 * code, or is not behind a call; unless that is at the program's or the thread's start, it has an
 * outermost frame that says so.
 */
#ifndef SOURCE_STACKS_C_STACK_H
#define SOURCE_STACKS_C_STACK_H

#include "base/map.h"
#include "bpf/abi.h"
#include "source/stacks/code_frames.h"

/* Addresses of a process that are known to be behind a call, or those of instructions that return,
 * or not. Initialised by zeroes. */
struct c_stack_calls {
	struct map known;
	uint64_t read_ns; /* of the mappings that it is of */
};
void c_stack_calls_done(struct c_stack_calls *c);

/* A process. */
struct c_stack_of {
	struct code_frames *frames;
	struct code_map *map;
	struct c_stack_calls *calls;
	pid_t pid;
};

/* The stack, as of code_frames_stack(), of a struct ebt_stack_memory and a struct ebt_stack_links;
 * 0 if there are fewer bytes. 0 or -ENOMEM. */
int c_stack_push(const struct c_stack_of *of, const void *payload, size_t bytes, uint32_t *ret);

/* What a record has of a stack; links: NULL: none. It refers to both. */
struct unwind_image c_stack_image(const struct ebt_stack_memory *m,
				  const struct ebt_stack_links *links);
/* As unwind_until(). */
size_t c_stack_unwind(const struct c_stack_of *of, const struct unwind_image *image,
		      uint64_t ret[CODE_STACK_MAX], enum unwind_end *ret_end, size_t *ret_known);
/* True if a function can return to the address. */
bool c_stack_is_return(const struct c_stack_of *of, uint64_t address);

#endif
