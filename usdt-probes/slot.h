/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots: which thread writes which ring, and who may touch the mapped file.
 *
 * There is one slot a ring, in static memory: a slot stays valid when its thread has ended or the
 * file is unmapped. A thread takes the lowest free slot at its first probe and keeps it until it
 * ends, over any number of recordings. A slot's `state` equals the gate's state word only while its
 * pointers lead into the file that is being recorded, so one comparison tells the hot path that
 * everything is in order.
 *
 * A probe sets the slot's `busy` before that comparison; whoever closes the gate then issues a
 * barrier on all threads and waits for `busy` to fall before it unmaps the file. Slow paths, which
 * may touch the file with no slot, count themselves in `ebt_visitors` instead.
 *
 * A signal handler may fork in the middle of any of this. The child then continues what its parent
 * was doing, but into private memory: see ebt_recording_forked(). Nothing here writes events.
 */
#ifndef EBT_SLOT_H
#define EBT_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include <ebtrace/event.h>

#include "clock.h"
#include "gate.h"
#include "ring_file.h"
#include "ring_writer.h"

struct ebt_slot {
	uint32_t owner; /* tid; 0: free */
	uint32_t state;
	uint32_t busy;
	uint32_t index;
	struct ebt_ring ring;
	uint64_t last_ts;
	struct ebt_clock clock;
} __attribute__((aligned(128)));

struct ebt_thread {
	struct ebt_slot *slot;
	uint32_t busy;	  /* inside a probe with no slot, or giving the slot back */
	uint32_t refused; /* 1 + the count of freed slots when no ring could be had */
	uint32_t refused_state;
	uint64_t buckets[EBT_ALLOC_BUCKETS];
};

extern __thread struct ebt_thread ebt_self __attribute__((visibility("hidden")));
extern struct ebt_slot ebt_slots[EBT_RING_MAX_DOMAINS];
/* Low half: how many. High half: how often this memory was forked, so that a visitor that finds
 * itself in a child leaves no visit there that the child has not counted. */
extern uint64_t ebt_visitors;

/* Orders plain accesses against a signal handler of this thread, and, with the membarrier of
 * ebt_slots_wait(), against the other threads. */
static inline void ebt_compiler_barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Returns what to hand to ebt_leave(). */
static inline uint64_t ebt_visit(void)
{
	return __atomic_fetch_add(&ebt_visitors, 1, __ATOMIC_SEQ_CST);
}
static inline void ebt_leave(uint64_t visit)
{
	uint64_t now = __atomic_load_n(&ebt_visitors, __ATOMIC_RELAXED);
	while (now >> 32 == visit >> 32 &&
	       !__atomic_compare_exchange_n(&ebt_visitors, &now, now - 1, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
}

/* The calling thread is inside a probe. */
static inline bool ebt_inside_probe(void)
{
	return ebt_self.busy || (ebt_self.slot && ebt_self.slot->busy);
}

void ebt_slots_init(void);
/*
 * Gives the calling thread a ring of `file`, whose state word is `state`: its own slot's, or that of
 * a slot that it takes. The caller is a visitor or holds the lock, and has the signals blocked.
 * False: no ring is free, or the disk is full.
 */
bool ebt_slot_take(const struct ebt_file *file, uint32_t state);
/* True if ebt_slot_take() has failed in this recording and no slot was given back since. */
bool ebt_slot_refused(uint32_t state);
/* Gives a slot back that leads nowhere any more, and that its thread has let go. */
void ebt_slot_free(struct ebt_slot *s);
/* In a forked child: forgets every thread. The caller keeps its slot if it is inside a probe. */
void ebt_slots_forget(void);
/* Waits until no other thread is inside a probe. False: some still is after `limit_ns`. */
bool ebt_slots_wait(uint64_t limit_ns);

#endif
