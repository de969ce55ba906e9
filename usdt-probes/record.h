/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An event on the hot path: marks the thread's slot busy, reads the clock, writes the record, fires
 * the marker, frees the slot. Readers rely on this order: `writing` before the time stamp, the
 * record before the marker. All functions assume, and ebt_record_ready() tests, that the thread's
 * slot points into the file being recorded; entry.h handles every other case.
 */
#ifndef EBT_RECORD_H
#define EBT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "marker.h"
#include "shared/fork_mark.h"
#include "slot.h"

#define likely(x)     __builtin_expect(!!(x), 1)
#define unlikely(x)   __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum ebt_lifecycle {
#define EBT_LIFECYCLE_ID(id, name, help) EBT_LIFECYCLE_##name = id,
#include <ebtrace/events.def>
};

/* A probe under way. */
struct ebt_probe {
	struct ebt_slot *slot; /* NULL: no ring, only a marker */
	uint64_t ts;
	uint64_t pos; /* of its record */
	uint32_t seq;
};

/* A marker's tail for an event without a ring. */
static inline struct ebt_tail ebt_tail_without_ring(void)
{
	return (struct ebt_tail){EBT_NO_RING, ebt_clock_monotonic(), EBT_NO_POS};
}
/* A marker's tail for the probe's event. Only a traced probe computes it. */
ALWAYS_INLINE struct ebt_tail ebt_record_tail(const struct ebt_probe *p)
{
	if (unlikely(!p->slot))
		return (struct ebt_tail){EBT_NO_RING, p->ts, EBT_NO_POS};
	return (struct ebt_tail){p->slot->domain | (uint64_t)p->seq << 32, p->ts, p->pos};
}

/* The slot is busy. */
ALWAYS_INLINE void ebt_record_stamp(struct ebt_probe *p, struct ebt_slot *s)
{
	ebt_ring_store(&s->ring.h->writing, 1);
	ebt_compiler_barrier();
	uint64_t ts = ebt_clock_now(&s->clock);
	if (unlikely(ts < s->last_ts)) {
		ts = s->last_ts;
		__asm__("" : "+r"(ts)); /* a branch: a conditional move would wait for the clock */
	}
	s->last_ts = ts;
	p->slot = s;
	p->ts = ts;
}

/* Marks an idle slot busy, and reads the clock. False: its ring is not of this recording. */
ALWAYS_INLINE bool ebt_record_ready(struct ebt_probe *p, struct ebt_slot *s)
{
	__atomic_store_n(&s->busy, 1, __ATOMIC_RELAXED);
	ebt_compiler_barrier(); /* partner: the membarrier of ebt_slots_wait() */
	if (unlikely(ebt_state() != s->state || ebt_forked())) {
		__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
		return false;
	}
	ebt_record_stamp(p, s);
	return true;
}

/* Header and stamp of a record of n words; returns its payload. The probe has a slot. */
ALWAYS_INLINE uint64_t *ebt_record_open(struct ebt_probe *p, uint64_t n, uint64_t user,
					uint64_t type, uint64_t id)
{
	struct ebt_ring *r = &p->slot->ring;
	uint64_t *words = ebt_ring_reserve(r, n);
	uint64_t events = ebt_ring_load(&r->h->events);
	p->seq = (uint32_t)(events + ebt_ring_load(&r->h->dropped));
	ebt_ring_store(&r->h->events, events + 1);
	ebt_ring_store(&words[0], ebt_ring_event_header(n, user, type, id, p->seq));
	ebt_ring_store(&words[1], p->ts);
	p->pos = r->tail;
	return words + 2;
}

ALWAYS_INLINE void ebt_record_close(struct ebt_probe *p, uint64_t n)
{
	ebt_ring_commit(&p->slot->ring, n);
}

/* A whole record of n words, 2 or with the value 3, if the probe has a slot. */
ALWAYS_INLINE void ebt_record(struct ebt_probe *p, uint64_t n, uint64_t user, uint64_t type,
			      uint64_t id, uint64_t value)
{
	if (likely(p->slot)) {
		uint64_t *payload = ebt_record_open(p, n, user, type, id);
		if (n > 2)
			ebt_ring_store(payload, value);
		ebt_record_close(p, n);
	}
}

/* Ends the probe. */
ALWAYS_INLINE void ebt_record_leave(struct ebt_probe *p)
{
	ebt_compiler_barrier();
	if (likely(p->slot)) {
		__atomic_store_n(&p->slot->ring.h->writing, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&p->slot->busy, 0, __ATOMIC_RELEASE);
	} else {
		ebt_self.busy = 0;
	}
}

void ebt_record_fire_watermark(struct ebt_tail tail);

/* After the event's own marker: a tracer that wakes up now finds the event in the ring. */
ALWAYS_INLINE void ebt_record_watermark(struct ebt_probe *p)
{
	if (p->slot && unlikely(ebt_ring_quarter_full(&p->slot->ring)))
		ebt_record_fire_watermark(ebt_record_tail(p));
}

/* Uses up an ordinal for an event that could not be written, so that readers can count it. */
void ebt_record_drop(struct ebt_slot *s);
/* Writes a lifecycle event and its marker, and ends the probe. */
void ebt_record_lifecycle(struct ebt_probe *p, uint32_t id, int64_t data);
/* The same with the gate closed: into the caller's ring, if its slot is of the recording
 * `state`. */
void ebt_record_put(uint32_t id, int64_t data, uint32_t state);

#endif
