/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probes. Each takes its thread's slot, stamps, writes its record, fires its marker, lets go.
 * The order is what readers rely on: `writing` before the stamp, the record before the marker.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <ebtrace/event.h>
#include <ebtrace/probes.h>

#include "control.h"
#include "marker.h"
#include "thread.h"
#include "user_events.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static const char *const phase_names[] = {
#define EBT_PHASE(id, name, stops) [id] = #name,
#include <ebtrace/events.def>
};
static const char *const counter_names[] = {
#define EBT_COUNTER_ID(id, name, unit, help) [id] = #name,
#include <ebtrace/events.def>
};
static const char *const lifecycle_names[] = {
#define EBT_LIFECYCLE_ID(id, name, help) [id] = #name,
#include <ebtrace/events.def>
};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

EBT_DEFINE_MARKER(begin)
EBT_DEFINE_MARKER(end)
EBT_DEFINE_VALUE_MARKER(counter, "8@%%rdx")
EBT_DEFINE_VALUE_MARKER(lifecycle, "-8@%%rdx")
EBT_DEFINE_MARKER(user_unit)
EBT_DEFINE_VALUE_MARKER(user_int, "-8@%%rdx")
EBT_DEFINE_MARKER(user_span_begin)
EBT_DEFINE_MARKER(user_span_end)

EBT_ONE_SITE void marker_user_custom(uint32_t id, const void *payload, size_t bytes,
				     struct ebt_tail tail)
{
	EBT_FIRE("user_custom", EBT_SEMAPHORE_EVENTS,
		 "4@%%edi 8@%%rsi 8@%%rdx 8@%%r10 " EBT_TAIL_ARGS, id, ebt_user_names[id],
		 (uintptr_t)payload, bytes, tail);
}
EBT_ONE_SITE void marker_alloc_sizes(const uint64_t *buckets, struct ebt_tail tail)
{
	EBT_FIRE("alloc_sizes", EBT_SEMAPHORE_EVENTS, "8@%%rdx 8@%%r10 " EBT_TAIL_ARGS, 0, NULL,
		 (uintptr_t)buckets, EBT_ALLOC_BUCKETS, tail);
}
EBT_ONE_SITE void marker_watermark(struct ebt_tail tail)
{
	EBT_FIRE("watermark", EBT_SEMAPHORE_NONE, EBT_TAIL_ARGS, 0, NULL, 0, 0, tail);
}

/* A probe under way. */
struct probe {
	struct ebt_slot *slot; /* NULL: no ring, only a marker */
	struct ebt_tail tail;
};

static inline __attribute__((always_inline)) void stamp(struct probe *p, struct ebt_slot *s)
{
	ebt_ring_store(&s->ring.h->writing, 1);
	ebt_compiler_barrier();
	uint64_t ts = ebt_clock_now(&s->clock);
	if (unlikely(ts < s->last_ts))
		ts = s->last_ts;
	s->last_ts = ts;
	p->slot = s;
	p->tail.ts = ts;
}

/* An event that could not be written takes an ordinal, so that readers can count it. */
static void drop(struct ebt_slot *s)
{
	__atomic_add_fetch(&s->ring.h->dropped, 1, __ATOMIC_RELAXED);
}

static void count_without_ring(uint32_t state)
{
	uint64_t visit = ebt_visit();
	if (__atomic_load_n(&ebt_gate_own.ring, __ATOMIC_SEQ_CST) == state)
		__atomic_add_fetch(&ebt_current_file()->ext->no_ring_events, 1, __ATOMIC_RELAXED);
	ebt_leave(visit);
}

/* Takes a ring of the recording. True: the thread's slot is in order and busy. */
static bool take_ring(uint32_t state)
{
	uint64_t visit = ebt_visit();
	bool bound = __atomic_load_n(&ebt_gate_own.ring, __ATOMIC_SEQ_CST) == state &&
		     ebt_thread_bind(ebt_current_file(), state, true);
	if (bound)
		__atomic_store_n(&ebt_self.slot->busy, 1, __ATOMIC_SEQ_CST);
	ebt_leave(visit);
	return bound;
}

static bool prepare(struct probe *p)
{
	if (unlikely(!*ebt_fork_mark))
		ebt_control_forked(false);
	if (unlikely(ebt_state() & EBT_STATE_FORKED))
		ebt_control_child_probes();
	if (!ebt_state() && __atomic_load_n(&ebt_gate_own.ring_request, __ATOMIC_RELAXED))
		ebt_control_requested();
	uint32_t state = ebt_state();
	if (state & EBT_STATE_PAUSED)
		return false;
	if (state & EBT_STATE_ON) {
		if (take_ring(state)) {
			stamp(p, ebt_self.slot);
			return true;
		}
		count_without_ring(state);
	}
	p->slot = NULL;
	p->tail = (struct ebt_tail){EBT_NO_RING, ebt_clock_monotonic(), EBT_NO_POS};
	return ebt_traced();
}

/* Any probe that finds its thread not ready to write at once. The thread's slot is not busy. */
static __attribute__((noinline, cold)) bool enter_slow(struct probe *p)
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

static __attribute__((noinline, cold)) bool reentered(struct ebt_slot *s)
{
	/* With the gate as the slot knows it, the interrupted probe keeps the file mapped. */
	if (ebt_state() == s->state)
		drop(s);
	return false;
}

/* So that the address of the caller's probe goes nowhere: it can live in registers. */
static inline __attribute__((always_inline)) bool enter_apart(struct probe *p)
{
	struct probe slow = {0};
	bool go = enter_slow(&slow);
	*p = slow;
	return go;
}

/* True: the event shall be written; the caller ends with leave(). */
static inline __attribute__((always_inline)) bool enter(struct probe *p)
{
	struct ebt_slot *s = ebt_self.slot;
	p->slot = NULL;
	if (unlikely(!s))
		return enter_apart(p);
	if (unlikely(s->busy))
		return reentered(s);
	__atomic_store_n(&s->busy, 1, __ATOMIC_RELAXED);
	ebt_compiler_barrier(); /* partner: the membarrier of ebt_threads_wait() */
	if (unlikely(ebt_state() != s->state || !*ebt_fork_mark)) {
		__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
		return enter_apart(p);
	}
	stamp(p, s);
	return true;
}

static inline __attribute__((always_inline)) void leave(struct probe *p)
{
	ebt_compiler_barrier();
	if (likely(p->slot)) {
		__atomic_store_n(&p->slot->ring.h->writing, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&p->slot->busy, 0, __ATOMIC_RELEASE);
	} else {
		ebt_self.busy = 0;
	}
}

/* Header and stamp of a record of n words; returns its payload. */
static inline __attribute__((always_inline)) uint64_t *
record_open(struct probe *p, uint64_t n, uint64_t user, uint64_t type, uint64_t id)
{
	struct ebt_ring *r = &p->slot->ring;
	uint64_t *words = ebt_ring_reserve(r, n);
	uint64_t events = ebt_ring_load(&r->h->events);
	uint32_t seq = (uint32_t)(events + ebt_ring_load(&r->h->dropped));
	ebt_ring_store(&r->h->events, events + 1);
	ebt_ring_store(&words[0], ebt_ring_event_header(n, user, type, id, seq));
	ebt_ring_store(&words[1], p->tail.ts);
	p->tail.pos = r->tail;
	p->tail.ring_seq = p->slot->index | (uint64_t)seq << 32;
	return words + 2;
}

static inline __attribute__((always_inline)) void record_close(struct probe *p, uint64_t n)
{
	ebt_ring_commit(&p->slot->ring, n);
}

/* After the event's own marker: a tracer that wakes up now finds everything in the ring. */
static inline __attribute__((always_inline)) void watermark(struct probe *p, uint64_t n)
{
	if (p->slot && unlikely((p->tail.pos ^ (p->tail.pos + n)) & -(p->slot->ring.elements / 4)))
		marker_watermark(p->tail);
}

static inline __attribute__((always_inline)) void record(struct probe *p, uint64_t n, uint64_t user,
							 uint64_t type, uint64_t id, uint64_t value)
{
	if (likely(p->slot)) {
		uint64_t *payload = record_open(p, n, user, type, id);
		if (n > 2)
			ebt_ring_store(payload, value);
		record_close(p, n);
	}
}

void ebt_emit_begin(enum ebt_phase phase)
{
	struct probe p;
	if ((unsigned int)phase >= COUNT(phase_names) || !enter(&p))
		return;
	record(&p, 2, 0, EBT_RING_BEGIN, phase, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_begin(phase, phase_names[phase], p.tail);
	watermark(&p, 2);
	leave(&p);
}

void ebt_emit_end(enum ebt_phase phase)
{
	struct probe p;
	if ((unsigned int)phase >= COUNT(phase_names) || !enter(&p))
		return;
	record(&p, 2, 0, EBT_RING_END, phase, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_end(phase, phase_names[phase], p.tail);
	watermark(&p, 2);
	leave(&p);
}

void ebt_emit_counter(enum ebt_counter counter, uint64_t value)
{
	struct probe p;
	if ((unsigned int)counter >= COUNT(counter_names) || !enter(&p))
		return;
	record(&p, 3, 0, EBT_RING_COUNTER, counter, value);
	if (unlikely(ebt_traced()))
		ebt_marker_counter(counter, counter_names[counter], value, p.tail);
	watermark(&p, 3);
	leave(&p);
}

static void lifecycle(struct probe *p, uint32_t id, int64_t data)
{
	record(p, 3, 0, EBT_RING_LIFECYCLE, id, (uint64_t)data);
	if (ebt_traced())
		ebt_marker_lifecycle(id, lifecycle_names[id], (uint64_t)data, p->tail);
	watermark(p, 3);
	leave(p);
}

void ebt_emit_lifecycle(uint32_t id, int64_t data)
{
	struct probe p;
	if (enter(&p))
		lifecycle(&p, id, data);
}

void ebt_lifecycle_put(uint32_t id, int64_t data, uint32_t state)
{
	struct probe p;
	struct ebt_slot *s = ebt_self.slot;
	if (!s || s->state != state)
		return;
	if (s->busy) {
		drop(s);
		return;
	}
	s->busy = 1;
	ebt_compiler_barrier();
	stamp(&p, s);
	lifecycle(&p, id, data);
}

/* Rows of 10 sizes from 10 words on. */
static unsigned int bucket_of(size_t words)
{
	if (words < 10)
		return (unsigned int)words;
	return words < 100 ? (unsigned int)(words / 10) + 9 : EBT_ALLOC_BUCKETS - 1;
}

void ebt_count_alloc(size_t words)
{
	if (!(ebt_state() & EBT_STATE_PAUSED))
		__atomic_add_fetch(&ebt_self.buckets[bucket_of(words)], 1, __ATOMIC_RELAXED);
}

void ebt_emit_alloc_flush(void)
{
	struct probe p;
	if (!enter(&p))
		return;
	/* Taken out one by one, so that a handler's count falls into this event or the next. */
	uint64_t buckets[EBT_ALLOC_BUCKETS];
	for (unsigned int i = 0; i < EBT_ALLOC_BUCKETS; i++)
		buckets[i] = __atomic_exchange_n(&ebt_self.buckets[i], 0, __ATOMIC_RELAXED);
	if (p.slot) {
		uint64_t *payload = record_open(&p, 2 + EBT_ALLOC_BUCKETS, 0, EBT_RING_ALLOC, 0);
		for (unsigned int i = 0; i < EBT_ALLOC_BUCKETS; i++)
			ebt_ring_store(&payload[i], buckets[i]);
		record_close(&p, 2 + EBT_ALLOC_BUCKETS);
	}
	if (ebt_traced())
		marker_alloc_sizes(buckets, p.tail);
	watermark(&p, 2 + EBT_ALLOC_BUCKETS);
	leave(&p);
}

void ebt_emit_unit(int event)
{
	struct probe p;
	if (!ebt_user_event_is(event, EBT_USER_UNIT) || !enter(&p))
		return;
	record(&p, 2, 1, EBT_RING_USER_UNIT, (uint64_t)event, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_user_unit((uint32_t)event, ebt_user_names[event], p.tail);
	watermark(&p, 2);
	leave(&p);
}

void ebt_emit_int(int event, int64_t value)
{
	struct probe p;
	if (!ebt_user_event_is(event, EBT_USER_INT) || !enter(&p))
		return;
	record(&p, 3, 1, EBT_RING_USER_INT, (uint64_t)event, (uint64_t)value);
	if (unlikely(ebt_traced()))
		ebt_marker_user_int((uint32_t)event, ebt_user_names[event], (uint64_t)value,
				    p.tail);
	watermark(&p, 3);
	leave(&p);
}

void ebt_emit_span_begin(int event)
{
	struct probe p;
	if (!ebt_user_event_is(event, EBT_USER_SPAN) || !enter(&p))
		return;
	record(&p, 2, 1, EBT_RING_USER_SPAN_BEGIN, (uint64_t)event, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_user_span_begin((uint32_t)event, ebt_user_names[event], p.tail);
	watermark(&p, 2);
	leave(&p);
}

void ebt_emit_span_end(int event)
{
	struct probe p;
	if (!ebt_user_event_is(event, EBT_USER_SPAN) || !enter(&p))
		return;
	record(&p, 2, 1, EBT_RING_USER_SPAN_END, (uint64_t)event, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_user_span_end((uint32_t)event, ebt_user_names[event], p.tail);
	watermark(&p, 2);
	leave(&p);
}

/* The payload's words, the last of them with the number of unused bytes in its last byte. */
static void custom_record(struct probe *p, int event, const void *payload, size_t bytes)
{
	uint64_t words = bytes / 8 + 1;
	uint64_t last = 0;
	uint64_t *to = record_open(p, 2 + words, 1, EBT_RING_USER_CUSTOM, (uint64_t)event);
	const char *from = payload;
	for (uint64_t i = 0; i + 1 < words; i++) {
		uint64_t word;
		memcpy(&word, from + 8 * i, sizeof(word));
		ebt_ring_store(&to[i], word);
	}
	if (bytes % 8)
		memcpy(&last, from + 8 * (words - 1), bytes % 8);
	((unsigned char *)&last)[7] = (unsigned char)(7 - bytes % 8);
	ebt_ring_store(&to[words - 1], last);
	record_close(p, 2 + words);
}

void ebt_emit_custom(int event, const void *payload, size_t bytes)
{
	struct probe p;
	if (!ebt_user_event_is(event, EBT_USER_CUSTOM) || !enter(&p))
		return;
	uint64_t n = 2 + bytes / 8 + 1;
	if (bytes > EBT_CUSTOM_MAX_BYTES || (p.slot && n > p.slot->ring.elements / 2)) {
		if (p.slot)
			drop(p.slot);
		leave(&p);
		return;
	}
	if (p.slot)
		custom_record(&p, event, payload, bytes);
	if (unlikely(ebt_traced()))
		marker_user_custom((uint32_t)event, payload, bytes, p.tail);
	watermark(&p, n);
	leave(&p);
}
