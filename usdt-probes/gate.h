/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The gate of <ebtrace/probes.h>: the semaphores of listeners and the state word of the recording.
 * The kernel writes the semaphores, the recording writes the state; all threads read both without a
 * lock.
 */
#ifndef EBT_GATE_H
#define EBT_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <ebtrace/probes.h>

/* The state word: the number of the recording, and its state. */
#define EBT_STATE_ON	      1u
#define EBT_STATE_PAUSED      2u
#define EBT_STATE_FORKED      4u /* the parent recorded; this child has yet to start */
#define EBT_STATE_EPOCH_SHIFT 3

/* The gates by their hidden names: the library's own, whatever the executable exports. */
extern struct ebt_gate ebt_gate_own __attribute__((visibility("hidden")));
extern struct ebt_page_gate ebt_page_gate_own __attribute__((visibility("hidden")));

static inline uint32_t ebt_state(void)
{
	return __atomic_load_n(&ebt_gate_own.ring, __ATOMIC_RELAXED);
}
/* For visitors and for the thread that closes the gate; see slot.h. */
static inline uint32_t ebt_state_ordered(void)
{
	return __atomic_load_n(&ebt_gate_own.ring, __ATOMIC_SEQ_CST);
}
static inline void ebt_state_set(uint32_t state)
{
	__atomic_store_n(&ebt_gate_own.ring, state, __ATOMIC_SEQ_CST);
}
/* A tracer listens to the events. */
static inline bool ebt_traced(void)
{
	return __atomic_load_n(&ebt_gate_own.events, __ATOMIC_RELAXED) != 0;
}
/* Somebody listens to the markers of another semaphore. */
static inline bool ebt_listened(const uint16_t *semaphore)
{
	return __atomic_load_n(semaphore, __ATOMIC_RELAXED) && !(ebt_state() & EBT_STATE_PAUSED);
}
/* A tracer asks for a ring. */
static inline bool ebt_ring_wanted(void)
{
	return __atomic_load_n(&ebt_gate_own.ring_request, __ATOMIC_RELAXED) != 0;
}

#endif
