/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects a forked child without a system call. The kernel zeroes one page in every child that has
 * a memory of its own, so a child is detected even if it was made by _Fork() or a bare system call.
 * vfork() shares the memory: its child is still us. A kernel older than 4.14 cannot do it; then the
 * mark never changes and only the fork handlers detect a child.
 */
#ifndef EBT_FORK_MARK_H
#define EBT_FORK_MARK_H

#include <stdbool.h>
#include <stdint.h>

#define EBT_FORK_PAGE_BYTES 4096

/* The words of the page. EBT_FORK_MARK is 0 in a child that has not called ebt_fork_mark_renew()
 * yet, and in a process that has not called ebt_fork_mark_init(): what a child then forgets is
 * still empty. The others are the states (output_file.h), locks (trace_lock.h) and writers
 * (writers.h) of an allocation trace and of a page trace, of which a child has none. */
enum {
	EBT_FORK_MARK,
	EBT_FORK_ALLOC_STATE,
	EBT_FORK_ALLOC_LOCK,
	EBT_FORK_ALLOC_WRITERS,
	EBT_FORK_PAGE_STATE,
	EBT_FORK_PAGE_LOCK,
	EBT_FORK_PAGE_WRITERS,
};
extern uint32_t ebt_fork_page[] __attribute__((visibility("hidden")));

static inline bool ebt_forked(void)
{
	return !__atomic_load_n(&ebt_fork_page[EBT_FORK_MARK], __ATOMIC_RELAXED);
}

void ebt_fork_mark_init(void);
/* Ends the detection of this child, and starts that of its own children. */
void ebt_fork_mark_renew(void);

#endif
