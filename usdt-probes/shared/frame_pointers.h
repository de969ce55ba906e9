/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calling thread's stack, read by frame pointers. Nothing here faults, allocates or takes a
 * lock: memory that is not known to be mapped is tested first, at the price of a system call for
 * each new page of a thread's stack, and each time for each page of a stack that the program made
 * itself. In a process that is confined (confined.h) such a test fails. errno changes.
 */
#ifndef EBT_FRAME_POINTERS_H
#define EBT_FRAME_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a frame pointer points at. */
struct ebt_frame_record {
	uintptr_t next, return_address;
};

/* True on the first stack of the program and on one that libc made for a thread; false: on one that
 * the program made itself, or it is not known. */
bool ebt_stack_is_own(const void *frame);
/* Before the functions below, with the address of a frame of the calling thread: a thread may have
 * several stacks, such as those of handlers and coroutines. */
void ebt_stack_enter(const void *frame);
/* True if the bytes are mapped. False may also be: a MiB or more behind what was read before. */
bool ebt_stack_has(uintptr_t address, size_t bytes);
/* Copies a record of the stack. False: there is none at `fp`. */
bool ebt_stack_record(uintptr_t fp, struct ebt_frame_record *ret);

/*
 * Writes at most `max` addresses, outermost first, of the callers of the frame at `fp`; the
 * innermost ones if there are more. Returns their number. Code without frame pointers ends the
 * chain, or skips a frame. Does not need ebt_stack_enter().
 */
size_t ebt_frame_pointers(const void *fp, int64_t *addresses, size_t max);

#endif
