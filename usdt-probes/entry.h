/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry of a probe. Almost always the thread's slot is ready and record.h can write at once; this
 * module handles the other cases: a thread's first probe, a probe inside a probe, a forked child, a
 * recording that has ended, begun or paused, a tracer that requests a ring, no free ring.
 */
#ifndef EBT_ENTRY_H
#define EBT_ENTRY_H

#include <stdbool.h>

#include "record.h"

/* For a thread without a ready slot. Returns as ebt_enter(). */
bool ebt_enter_slow(struct ebt_probe *p);
/* For a thread whose slot is busy: drops and counts its event. */
void ebt_enter_again(struct ebt_slot *s);

/* Copies, so that the address of the caller's probe does not escape: it can stay in registers. */
ALWAYS_INLINE bool ebt_enter_apart(struct ebt_probe *p)
{
	struct ebt_probe slow = {0};
	bool go = ebt_enter_slow(&slow);
	*p = slow;
	return go;
}

/* True: the caller writes the event and then calls ebt_record_leave(). */
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
