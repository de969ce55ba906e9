/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that confined itself by seccomp may be killed for a system call that it does not make
 * itself. From then on nothing here makes one: what it could ask the kernel for is not there,
 * except for memory that was reserved before.
 */
#ifndef EBT_CONFINED_H
#define EBT_CONFINED_H

#include <stdbool.h>
#include <stddef.h>

extern bool ebt_confined_flag __attribute__((visibility("hidden")));

static inline bool ebt_confined(void)
{
	return __atomic_load_n(&ebt_confined_flag, __ATOMIC_ACQUIRE);
}

/* Before the process confines itself: with zeroed memory for the time after that, which is kept;
 * NULL: none, or that of the last call. */
void ebt_confine(void *memory, size_t bytes);
/* The kernel has refused it. */
void ebt_confine_cancel(void);
/* Memory of that; NULL: there is not so much. */
void *ebt_confined_take(size_t bytes);

#endif
