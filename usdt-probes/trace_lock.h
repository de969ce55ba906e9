/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock of slow parts of a trace. The holder's signals are blocked, and its word is zeroed in a
 * child, so nobody waits for a holder that does not exist, except for one that exits in the handler
 * of a fault: that wait ends after some seconds.
 */
#ifndef EBT_TRACE_LOCK_H
#define EBT_TRACE_LOCK_H

#include <signal.h>
#include <stdint.h>

/* 0; the previous signal mask is in *ret_mask, for ebt_trace_unlock(). -EBUSY: another thread has
 * held it for some seconds. */
int ebt_trace_lock(uint32_t *word, sigset_t *ret_mask);
void ebt_trace_unlock(uint32_t *word, const sigset_t *mask);

#endif
