// SPDX-License-Identifier: BSD-2-Clause
#include "trace_lock.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "signals.h"

#define LOCK_YIELDS   50
#define LOCK_SLEEPS   50000
#define LOCK_SLEEP_NS 100000

int ebt_trace_lock(uint32_t *word, sigset_t *ret_mask)
{
	ebt_signals_block(ret_mask);
	for (int i = 0; __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE); i++) {
		if (i == LOCK_SLEEPS) {
			ebt_signals_restore(ret_mask);
			return -EBUSY;
		}
		if (i < LOCK_YIELDS)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = LOCK_SLEEP_NS}, NULL);
	}
	return 0;
}

void ebt_trace_unlock(uint32_t *word, const sigset_t *mask)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	ebt_signals_restore(mask);
}
