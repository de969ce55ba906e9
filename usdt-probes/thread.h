/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the library knows of each thread: the ring it writes, and whether it is inside a probe.
 *
 * Rings are given out through a table of slots, one a ring, in static memory: a slot stays valid
 * when its thread has ended or the file is unmapped. A thread takes the lowest free slot at its
 * first probe and keeps it until it ends, over any number of recordings. A slot's `state` equals
 * the gate's state word only while its pointers lead into the file that is being recorded, so one
 * comparison tells the hot path that everything is in order.
 *
 * A probe sets the slot's `busy` before that comparison; whoever closes the gate then issues a
 * barrier on all threads and waits for `busy` to fall before it unmaps the file. Slow paths, which
 * may touch the file with no slot, count themselves in `ebt_visitors` instead.
 *
 * A signal handler may fork in the middle of any of this. The child then goes on with what its
 * parent was doing, but into private memory: see ebt_control_forked().
 */
#ifndef EBT_THREAD_H
#define EBT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <ebtrace/event.h>
#include <ebtrace/probes.h>

#include "clock.h"
#include "marker.h"
#include "ring_file.h"
#include "ring_writer.h"

/* The gate's state word: the number of the recording, and what it is doing. */
#define EBT_STATE_ON	      1u
#define EBT_STATE_PAUSED      2u
#define EBT_STATE_FORKED      4u /* the parent recorded; this child has yet to start */
#define EBT_STATE_EPOCH_SHIFT 3

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
	uint32_t refused; /* 1 + ebt_slots_freed when no ring could be had */
	uint32_t refused_state;
	uint64_t buckets[EBT_ALLOC_BUCKETS];
};

/* The gate by its hidden name: the library's own, whatever the executable exports. */
extern struct ebt_gate ebt_gate_own __attribute__((visibility("hidden")));
extern __thread struct ebt_thread ebt_self __attribute__((visibility("hidden")));
extern struct ebt_slot ebt_slots[EBT_RING_MAX_DOMAINS];
/* Low half: how many. High half: how often this memory was forked, so that a visitor that finds
 * itself in a child leaves no visit there that the child has not counted. */
extern uint64_t ebt_visitors;
/* One word in a page that the kernel zeroes in a forked child; see control.c. */
extern const uint32_t *ebt_fork_mark __attribute__((visibility("hidden")));

static inline uint32_t ebt_state(void)
{
	return __atomic_load_n(&ebt_gate_own.ring, __ATOMIC_RELAXED);
}
static inline bool ebt_traced(void)
{
	return __atomic_load_n(&ebt_gate_own.events, __ATOMIC_RELAXED) != 0;
}
/* Orders plain accesses against a signal handler of this thread, and, with the membarrier of
 * ebt_threads_wait(), against the other threads. */
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

void ebt_threads_init(void);
void ebt_threads_done(void);
/*
 * Gives the calling thread a ring of `file`, whose state word is `state`. The caller is a visitor
 * or holds the lock. With `spawn`, a thread that had no slot writes domain_spawn. False: no ring.
 */
bool ebt_thread_bind(const struct ebt_file *file, uint32_t state, bool spawn);
/* In a forked child: forgets every thread. The caller keeps its slot if it is inside a probe. */
void ebt_threads_forget(void);
/* Waits until no other thread is inside a probe. False: some still is after `limit_ns`. */
bool ebt_threads_wait(uint64_t limit_ns);

/* Writes a lifecycle event into the caller's ring, past the gate, and fires its marker. */
void ebt_lifecycle_put(uint32_t id, int64_t data, uint32_t state);

#endif
