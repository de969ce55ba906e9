/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A memory barrier on all threads of the process, so that the hot path of a probe needs none: the
 * partner of its compiler barrier between a store that says it is inside and the load of what may
 * keep it out.
 */
#ifndef EBT_BARRIER_H
#define EBT_BARRIER_H

/* While the process has one thread: later it is slow. */
void ebt_barrier_init(void);
/* A system call. */
void ebt_barrier_all(void);

#endif
