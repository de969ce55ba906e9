/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock.h"

#include <pthread.h>

#include "signals.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t holders_mask; /* the holder's previous mask */

void ebt_lock(const sigset_t *mask)
{
	pthread_mutex_lock(&lock);
	holders_mask = *mask;
}

/* Ends an attempt that returned `err`, with the signals blocked. */
static bool taken_or_restored(int err, const sigset_t *mask)
{
	if (err)
		ebt_signals_restore(mask);
	else
		holders_mask = *mask;
	return !err;
}

bool ebt_trylock(void)
{
	sigset_t mask;
	ebt_signals_block(&mask);
	return taken_or_restored(pthread_mutex_trylock(&lock), &mask);
}

bool ebt_lock_until(const struct timespec *until)
{
	sigset_t mask;
	ebt_signals_block(&mask);
	return taken_or_restored(pthread_mutex_timedlock(&lock, until), &mask);
}

void ebt_unlock(void)
{
	sigset_t mask = holders_mask;
	pthread_mutex_unlock(&lock);
	ebt_signals_restore(&mask);
}

void ebt_lock_renew(void)
{
	pthread_mutex_init(&lock, NULL);
}

void ebt_lock_restore_signals(void)
{
	sigset_t mask = holders_mask;
	ebt_signals_restore(&mask);
}
