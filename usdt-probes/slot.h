/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots: which thread writes which ring, and which code may access the mapped file.
 *
 * There is one slot a ring, in static memory: a slot stays valid when its thread has ended or the
 * file is unmapped. A thread gets the lowest free slot at its first probe and keeps it until it
 * ends, over any number of recordings. A slot's `state` equals the gate's state word only while its
 * pointers lead into the file being recorded, so the hot path needs one comparison.
 *
 * A probe sets the slot's `busy` before that comparison; the thread that closes the gate then
 * issues a barrier on all threads and waits until `busy` is clear before it unmaps the file. Slow
 * paths, which may access the file without a slot, count themselves in `ebt_visitors` instead.
 *
 * A signal handler may fork at any point of this. The child then continues its parent's operation,
 * but into private memory: see ebt_recording_forked(). This module writes no events.
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
	uint32_t domain; /* the ring's number */
	struct ebt_ring ring;
	uint64_t last_ts;
	struct ebt_clock clock;
	uint32_t index; /* of the ring in the file */
} __attribute__((aligned(128)));

struct ebt_thread {
	struct ebt_slot *slot;
	uint32_t busy;	  /* inside a probe without a slot, or releasing the slot */
	uint32_t refused; /* 1 + the count of freed slots when no ring was available */
	uint32_t refused_state;
	uint64_t buckets[EBT_ALLOC_BUCKETS];
};

extern __thread struct ebt_thread ebt_self __attribute__((visibility("hidden")));
extern struct ebt_slot ebt_slots[EBT_RING_MAX_DOMAINS];
/* Low half: number of visitors. High half: number of forks of this memory, so that a visitor that
 * continues in a child does not end a visit that the child has not counted. */
extern uint64_t ebt_visitors;

/* Orders plain accesses against a signal handler of this thread, and, with the membarrier of
 * ebt_slots_wait(), against the other threads. */
static inline void ebt_compiler_barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Returns the argument of ebt_leave(). */
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

/* True if the calling thread is inside a probe. */
static inline bool ebt_inside_probe(void)
{
	return ebt_self.busy || (ebt_self.slot && ebt_self.slot->busy);
}

/*
 * Assigns the calling thread a ring of `file`, whose state word is `state`: that of its slot, or of
 * a free one. The caller is a visitor or holds the lock, and has the signals blocked.
 * False: no ring is free, or the disk is full.
 */
bool ebt_slot_assign(const struct ebt_file *file, uint32_t state);
/* True if ebt_slot_assign() has failed in this recording and no slot was released since. */
bool ebt_slot_refused(uint32_t state);
/* Releases a slot whose pointers are cleared and that its thread has left. */
void ebt_slot_free(struct ebt_slot *s);
/* In a forked child: forgets every thread. The caller keeps its slot if it is inside a probe. */
void ebt_slots_forget(void);
/* Waits until no other thread is inside a probe. False: one still is after `limit_ns`. */
bool ebt_slots_wait(uint64_t limit_ns);

#endif
