/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that led to an allocation, by frame pointers where they work and otherwise by unwinding
 * with the compiler's tables (.eh_frame).
 *
 * A chain of frame pointers silently skips the callers of functions that have none, such as those
 * of libc. So a step is made by the frame pointer only from a call at which the unwinder found the
 * same next frame before: each site is unwound once. Nor is the stack followed to its end each
 * time: the last one is kept, and where a frame has the return address, the place and the frame
 * pointer that one had then, the frames around it are the same as well, if each return address is
 * still in its place.
 *
 * Where there is no table, as in code that is compiled at run time, the frame pointers are followed
 * as far as they stay in the stack and move towards its end. Takes no lock and allocates nothing.
 */
#ifndef EBT_BACKTRACE_H
#define EBT_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

/* Of a longer stack the outermost frames are missing. All of them fit a memtrace event. */
#define EBT_BACKTRACE_MAX 400

/*
 * Stores the addresses of the calls, the outermost first; the innermost is the one that returns to
 * `caller`, from the function of a frame that is on the same stack. Returns their number, at most
 * EBT_BACKTRACE_MAX.
 */
size_t ebt_backtrace(const void *caller, const void *frame, int64_t ret[EBT_BACKTRACE_MAX]);
/* Other code is where some was: forgets the sites and the last stacks. */
void ebt_backtrace_forget(void);
/* In a child that was forked: what other threads were using is free. */
void ebt_backtrace_begin_child(void);

/* Of the processor, backtrace_PROCESSOR.c. */
/* The number that the tables have for the frame pointer. */
extern const int ebt_frame_pointer_register __attribute__((visibility("hidden")));
/* Where the return address into a frame is stored, if its stack pointer is `stack` and the frame
 * that it called has the frame pointer `inner`. What is there has to be compared. */
uintptr_t ebt_return_slot(uintptr_t stack, uintptr_t inner);
/* A return address without the bits that protect it on the stack. */
uintptr_t ebt_return_address(uintptr_t stored);

#endif
