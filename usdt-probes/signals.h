/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks signal handlers around a critical section. */
#ifndef EBT_SIGNALS_H
#define EBT_SIGNALS_H

#include <signal.h>

/* Blocks all signals of the calling thread except those that report a fault of its own. */
void ebt_signals_block(sigset_t *ret_mask);
void ebt_signals_restore(const sigset_t *mask);

#endif
