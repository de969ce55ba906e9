/* SPDX-License-Identifier: BSD-2-Clause */
#include "section.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "../shared/confined.h"
#include "../shared/frame_pointers.h"

#define WAIT_S	  10
#define SPINS	  (1u << 24) /* of a thread that must not ask the kernel to wait */
#define NOTES	  16u
#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static __thread struct {
	bool inside;
	bool changes; /* it has the lock, and changes tables */
	bool locked;
	bool broken;
	uintptr_t frame; /* of whoever entered */
	unsigned notes;
	struct {
		const void *address;
		uint64_t obj;
	} note[NOTES];
} self;

bool ebt_section_is_inside(void)
{
	return self.inside;
}

/* A frame that is gone is inside one that is there. */
static bool is_left(uintptr_t here)
{
	return here > self.frame && ebt_stack_is_own((const void *)here) &&
	       ebt_stack_is_own((const void *)self.frame);
}

static void reset(void)
{
	self.broken = self.changes;
	if (self.locked)
		ebt_section_unlock();
	ebt_section_leave();
}

bool ebt_section_is_broken(void)
{
	return self.broken;
}

__attribute__((noinline)) bool ebt_section_enter(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (self.inside && is_left(here))
		reset();
	if (self.inside || self.broken)
		return false;
	self.frame = here;
	BARRIER();
	self.inside = true;
	BARRIER();
	return true;
}

void ebt_section_leave(void)
{
	BARRIER();
	self.inside = false;
}

static bool spin(void)
{
	for (unsigned i = 0; i < SPINS; i++)
		if (!pthread_mutex_trylock(&mutex))
			return true;
	return false;
}

static bool acquire(void)
{
	struct timespec until;
	if (!pthread_mutex_trylock(&mutex))
		return true;
	if (ebt_confined())
		return spin();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	return !pthread_mutex_timedlock(&mutex, &until);
}

bool ebt_section_lock(void)
{
	/* A handler that leaves from here on may have acquired it. */
	self.changes = true;
	BARRIER();
	self.locked = acquire();
	if (!self.locked)
		self.changes = false;
	return self.locked;
}

void ebt_section_call(void)
{
	BARRIER();
	self.changes = false;
	BARRIER();
}

void ebt_section_unlock(void)
{
	self.locked = false;
	pthread_mutex_unlock(&mutex);
	BARRIER();
	self.changes = false;
}

/* Handlers interrupt each other and the thread, but each ends before what it interrupted goes on:
 * an entry is complete before anybody else looks at it. */
bool ebt_section_note(const void *address, uint64_t obj)
{
	unsigned n = __atomic_load_n(&self.notes, __ATOMIC_RELAXED);
	do {
		if (n == NOTES)
			return false;
	} while (!__atomic_compare_exchange_n(&self.notes, &n, n + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	self.note[n].address = address;
	self.note[n].obj = obj;
	return true;
}

bool ebt_section_any(void)
{
	return __atomic_load_n(&self.notes, __ATOMIC_RELAXED);
}

bool ebt_section_next(const void **ret_address, uint64_t *ret_obj)
{
	unsigned n = __atomic_load_n(&self.notes, __ATOMIC_RELAXED);
	do {
		if (!n)
			return false;
		*ret_address = self.note[n - 1].address;
		*ret_obj = self.note[n - 1].obj;
		BARRIER();
		/* Unless a handler has added one meanwhile. */
	} while (!__atomic_compare_exchange_n(&self.notes, &n, n - 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}
