/* SPDX-License-Identifier: BSD-2-Clause */
#include "own_stack.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/confined.h"
#include "../shared/frame_pointers.h"
#include "../shared/pages.h"

#define STACKS	    16u
#define STACK_BYTES (64u << 10)
#define SIGNAL_SET  8 /* bytes of the kernel's */
#define WAITS	    10000u

static struct stack {
	uint32_t busy;
	char *memory; /* of whoever made it busy */
} stacks[STACKS];

/* NULL: there is no memory, or, with *ret_all_busy, all are in use. */
static struct stack *take(bool *ret_all_busy)
{
	*ret_all_busy = false;
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
	*ret_all_busy = true;
	return NULL;
}

/* Threads that use a stack return it soon, as their signals are blocked. In a confined process a
 * handler may have interrupted one, and system calls may be refused: there it does not wait. */
static struct stack *await(bool waits)
{
	bool all_busy;
	struct stack *s = take(&all_busy);
	for (unsigned i = 0; all_busy && waits && !ebt_confined() && i < WAITS; i++) {
		syscall(SYS_sched_yield);
		s = take(&all_busy);
	}
	return s;
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

__attribute__((noinline)) static bool call_elsewhere(void (*fn)(void *ctx), void *ctx)
{
	uint64_t all = UINT64_MAX, mask;
	bool blocks = !ebt_confined();
	if (blocks)
		set_mask(&all, &mask);
	struct stack *s = await(blocks);
	if (s) {
		ebt_own_stack_switch(fn, ctx, s->memory + STACK_BYTES);
		put(s);
	}
	/* The program may have confined itself meanwhile in another thread; this one did not. */
	if (blocks)
		set_mask(&mask, NULL);
	return s;
}

bool ebt_own_stack_call(void (*fn)(void *ctx), void *ctx)
{
	if (!ebt_stack_is_own(__builtin_frame_address(0)))
		return call_elsewhere(fn, ctx);
	fn(ctx);
	return true;
}
