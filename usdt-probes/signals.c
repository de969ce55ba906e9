/* SPDX-License-Identifier: BSD-2-Clause */
#include "signals.h"

#include <pthread.h>
#include <stddef.h>

void ebt_signals_block(sigset_t *ret_mask)
{
	/* Fault signals stay unblocked: a blocked SIGSEGV kills without running its handler. */
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t all;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, ret_mask);
}

void ebt_signals_restore(const sigset_t *mask)
{
	pthread_sigmask(SIG_SETMASK, mask, NULL);
}
