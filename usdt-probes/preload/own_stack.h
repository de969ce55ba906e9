/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of the recorder's own, for calls that come from a stack that the program made itself. The
 * stack of a coroutine may have no more room than the program needs. The first stack of the program
 * and those that libc made for threads have room, and are used as they are.
 *
 * Signals are blocked meanwhile: the kernel finds a handler's alternative stack unused where its
 * interrupted handler is on ours. In a confined process (confined.h) they are not.
 */
#ifndef EBT_OWN_STACK_H
#define EBT_OWN_STACK_H

#include <stdbool.h>

/* False: fn was not called: all stacks are in use, or there is no memory for one. errno may
 * change. */
bool ebt_own_stack_call(void (*fn)(void *ctx), void *ctx);
/* In a child that was forked: no other thread uses any. */
void ebt_own_stack_begin_child(void);

/* Of the processor, own_stack_PROCESSOR.c: calls fn on the stack that ends at `top`; an unwinder
 * finds the caller. */
void ebt_own_stack_switch(void (*fn)(void *ctx), void *ctx, void *top);

#endif
