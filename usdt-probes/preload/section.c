/* SPDX-License-Identifier: BSD-2-Clause */
#include "section.h"

#include <pthread.h>
#include <time.h>

#include "../confined.h"

#define WAIT_S	  10
#define SPINS	  (1u << 24) /* of a thread that must not ask the kernel to wait */
#define NOTES	  16u
#define BARRIER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static __thread struct {
	bool inside;
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

bool ebt_section_enter(void)
{
	if (self.inside)
		return false;
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

bool ebt_section_lock(void)
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

void ebt_section_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

/* Handlers interrupt each other and the thread, but each ends before what it interrupted goes on: an
 * entry is complete before anybody else looks at it. */
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
