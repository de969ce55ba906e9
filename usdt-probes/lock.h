/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one lock of the library. Its holder has the signals that come from outside blocked, so that
 * no handler can fork, exit or probe in the middle of what it does; the lock keeps what was blocked
 * before. It knows nothing of what it protects.
 */
#ifndef EBT_LOCK_H
#define EBT_LOCK_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

/* Takes the lock; the caller has blocked the signals and hands over the mask from before. */
void ebt_lock(const sigset_t *mask);
/* Blocks the signals and takes the lock unless somebody has it. */
bool ebt_trylock(void);
/* The same, but waits for it until a time of CLOCK_REALTIME. */
bool ebt_lock_until(const struct timespec *until);
/* Gives the lock back and restores the signals. */
void ebt_unlock(void);
/* In a forked child, whose parent may have held the lock: makes it free. */
void ebt_lock_renew(void);
/* Restores the signals as they were before the last holder, which was our parent. */
void ebt_lock_restore_signals(void);

#endif
