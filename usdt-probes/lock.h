/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one lock of the library. Its holder has all signals from outside blocked, so that no handler
 * can fork, exit or probe in the middle of a critical section; the lock saves the previous signal
 * mask.
 */
#ifndef EBT_LOCK_H
#define EBT_LOCK_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

/* Acquires the lock; the caller has blocked the signals and passes the previous mask. */
void ebt_lock(const sigset_t *mask);
/* Blocks the signals and acquires the lock unless another thread holds it. */
bool ebt_trylock(void);
/* The same, but waits until a time of CLOCK_REALTIME. */
bool ebt_lock_until(const struct timespec *until);
/* Releases the lock and restores the signals. */
void ebt_unlock(void);
/* In a forked child, whose parent may have held the lock: frees it. */
void ebt_lock_renew(void);
/* Restores the signals as they were before the last holder, which was our parent. */
void ebt_lock_restore_signals(void);

#endif
