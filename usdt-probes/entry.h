/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way into a probe. Almost always the thread's slot is in order and record.h can write at once;
 * this module also knows the other cases: a thread's first probe, a probe inside a probe, a forked
 * child, a recording that has ended, begun or paused, a tracer that wants a ring, no free ring.
 */
#ifndef EBT_ENTRY_H
#define EBT_ENTRY_H

#include <stdbool.h>

#include "record.h"

/* For a thread with no slot that is ready. True: as ebt_enter(). */
bool ebt_enter_slow(struct ebt_probe *p);
/* For a thread whose slot is busy: its event is dropped, and counted. */
void ebt_enter_again(struct ebt_slot *s);

/* So that the address of the caller's probe goes nowhere: it can live in registers. */
ALWAYS_INLINE bool ebt_enter_apart(struct ebt_probe *p)
{
	struct ebt_probe slow = {0};
	bool go = ebt_enter_slow(&slow);
	*p = slow;
	return go;
}

/* True: the event shall be written; the caller ends with ebt_record_leave(). */
ALWAYS_INLINE bool ebt_enter(struct ebt_probe *p)
{
	struct ebt_slot *s = ebt_self.slot;
	p->slot = NULL;
	if (unlikely(!s))
		return ebt_enter_apart(p);
	if (unlikely(s->busy)) {
		ebt_enter_again(s);
		return false;
	}
	return likely(ebt_record_ready(p, s)) || ebt_enter_apart(p);
}

#endif
