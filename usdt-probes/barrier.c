/* SPDX-License-Identifier: BSD-2-Clause */
#include "barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void ebt_barrier_init(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void ebt_barrier_all(void)
{
	/* Where it is refused: longer than a store waits in a processor. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) < 0)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}
