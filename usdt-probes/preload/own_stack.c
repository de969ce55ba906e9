/* SPDX-License-Identifier: BSD-2-Clause */
#include "own_stack.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../confined.h"
#include "../frame_pointers.h"
#include "../pages.h"

#define STACKS	    16u
#define STACK_BYTES (64u << 10)
#define SIGNAL_SET  8 /* bytes of the kernel's */

static struct stack {
	uint32_t busy;
	char *memory; /* of whoever made it busy */
} stacks[STACKS];

/* NULL: all are in use, or there is no memory. */
static struct stack *take(void)
{
	for (unsigned i = 0; i < STACKS; i++) {
		struct stack *s = &stacks[i];
		/* Pairs with the release in put(): the memory of whoever had it before. */
		if (__atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE))
			continue;
		if (!s->memory)
			s->memory = ebt_pages_get(STACK_BYTES);
		if (s->memory)
			return s;
		__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
		return NULL;
	}
	return NULL;
}

static void put(struct stack *s)
{
	__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}

void ebt_own_stack_begin_child(void)
{
	const char *here = __builtin_frame_address(0);
	for (unsigned i = 0; i < STACKS; i++)
		if ((uintptr_t)here - (uintptr_t)stacks[i].memory >= STACK_BYTES)
			stacks[i].busy = 0;
}

static void set_mask(const uint64_t *set, uint64_t *ret_old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, ret_old, SIGNAL_SET);
}

static void call_on(struct stack *s, void (*fn)(void *ctx), void *ctx)
{
	if (s)
		ebt_own_stack_switch(fn, ctx, s->memory + STACK_BYTES);
	else
		fn(ctx);
}

__attribute__((noinline)) static void call_elsewhere(void (*fn)(void *ctx), void *ctx)
{
	uint64_t all = UINT64_MAX, mask;
	bool blocks = !ebt_confined();
	if (blocks)
		set_mask(&all, &mask);
	struct stack *s = take();
	call_on(s, fn, ctx);
	if (s)
		put(s);
	/* The program may have confined itself meanwhile in another thread; this one did not. */
	if (blocks)
		set_mask(&mask, NULL);
}

void ebt_own_stack_call(void (*fn)(void *ctx), void *ctx)
{
	if (ebt_stack_is_own(__builtin_frame_address(0)))
		fn(ctx);
	else
		call_elsewhere(fn, ctx);
}
