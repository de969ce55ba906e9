/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's critical section, without a system call where no other thread is in it: signals
 * are not blocked. A handler that interrupts its own thread in the section is refused, so it cannot
 * wait for itself: what it allocates is not sampled, and what it frees is noted and removed when
 * the thread leaves. A handler may leave the section by longjmp(): a call from an outer frame of
 * the same stack shows that. The section is then free again, unless tables were being changed;
 * those cannot be used any more.
 */
#ifndef EBT_SECTION_H
#define EBT_SECTION_H

#include <stdbool.h>
#include <stdint.h>

/* False: the thread is in the section. Else it is until ebt_section_leave(). */
bool ebt_section_enter(void);
/* After that was false: a handler left the section while tables were being changed. It is free. */
bool ebt_section_is_broken(void);
/* In the section, with the lock: what follows is a call of the program's, and changes no table. */
void ebt_section_call(void);
void ebt_section_leave(void);
bool ebt_section_is_inside(void);
/* In the section. False: the lock is never released. */
bool ebt_section_lock(void);
void ebt_section_unlock(void);

/* An object that a handler frees while its thread is in the section. False: there were too many at
 * once, and it is forgotten. */
bool ebt_section_note(const void *address, uint64_t obj);
/* With the lock, or after the section: the next of those. False: there is none. */
bool ebt_section_next(const void **ret_address, uint64_t *ret_obj);
bool ebt_section_any(void);

#endif
