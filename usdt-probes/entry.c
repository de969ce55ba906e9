/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry.h"

#include <errno.h>

#include "gate.h"
#include "recording.h"
#include "shared/fork_mark.h"
#include "slot.h"
#include "thread.h"

static void count_without_ring(uint32_t state)
{
	uint64_t visit = ebt_visit();
	if (ebt_state_ordered() == state)
		__atomic_add_fetch(&ebt_current_file()->ext->no_ring_events, 1, __ATOMIC_RELAXED);
	ebt_leave(visit);
}

/* Assigns the thread a ring of the recording. True: the thread's slot is ready and busy. */
static bool bind_ring(uint32_t state)
{
	uint64_t visit = ebt_visit();
	bool bound =
		ebt_state_ordered() == state && ebt_thread_bind(ebt_current_file(), state, true);
	if (bound)
		__atomic_store_n(&ebt_self.slot->busy, 1, __ATOMIC_SEQ_CST);
	ebt_leave(visit);
	return bound;
}

static bool prepare(struct ebt_probe *p)
{
	if (unlikely(ebt_forked()))
		ebt_recording_forked(false);
	if (unlikely(ebt_state() & EBT_STATE_FORKED))
		ebt_recording_child_probes();
	if (!ebt_state() && ebt_ring_wanted())
		ebt_recording_requested();
	uint32_t state = ebt_state();
	if (state & EBT_STATE_PAUSED)
		return false;
	if (state & EBT_STATE_ON) {
		if (bind_ring(state)) {
			ebt_record_stamp(p, ebt_self.slot);
			return true;
		}
		count_without_ring(state);
	}
	p->slot = NULL;
	p->ts = ebt_clock_monotonic();
	return ebt_traced();
}

__attribute__((noinline, cold)) bool ebt_enter_slow(struct ebt_probe *p)
{
	struct ebt_thread *t = &ebt_self;
	if (t->busy) {
		uint32_t state = ebt_state();
		if ((state & EBT_STATE_ON) && !(state & EBT_STATE_PAUSED))
			count_without_ring(state);
		return false;
	}
	int saved_errno = errno;
	t->busy = 1;
	ebt_compiler_barrier();
	bool go = prepare(p);
	ebt_compiler_barrier();
	if (!go || p->slot)
		t->busy = 0;
	errno = saved_errno;
	return go;
}

__attribute__((noinline, cold)) void ebt_enter_again(struct ebt_slot *s)
{
	/* With the gate as the slot knows it, the interrupted probe keeps the file mapped. */
	if (ebt_state() == s->state)
		ebt_record_drop(s);
}
