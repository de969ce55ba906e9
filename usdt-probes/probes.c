/* SPDX-License-Identifier: BSD-2-Clause */
/* The probes of phases, counters and allocations. */
#include <stddef.h>

#include <ebtrace/event.h>
#include <ebtrace/probes.h>

#include "entry.h"
#include "gate.h"
#include "marker.h"
#include "record.h"
#include "slot.h"

static const char *const phase_names[] = {
#define EBT_PHASE(id, name, stops) [id] = #name,
#include <ebtrace/events.def>
};
static const char *const counter_names[] = {
#define EBT_COUNTER_ID(id, name, unit, help) [id] = #name,
#include <ebtrace/events.def>
};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

EBT_DEFINE_MARKER(begin)
EBT_DEFINE_MARKER(end)
EBT_DEFINE_VALUE_MARKER(counter, EBT_ARG_VALUE)

EBT_ONE_SITE static void marker_alloc_sizes(const uint64_t *buckets, struct ebt_tail tail)
{
	EBT_FIRE("alloc_sizes", EBT_SEMAPHORE_EVENTS,
		 EBT_ARG_VALUE " " EBT_ARG_BYTES " " EBT_TAIL_ARGS, 0, NULL, (uintptr_t)buckets,
		 EBT_ALLOC_BUCKETS, tail);
}
void ebt_emit_begin(enum ebt_phase phase)
{
	struct ebt_probe p;
	if ((unsigned int)phase >= COUNT(phase_names) || !ebt_enter(&p))
		return;
	ebt_record(&p, 2, 0, EBT_RING_BEGIN, phase, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_begin(phase, phase_names[phase], ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}

void ebt_emit_end(enum ebt_phase phase)
{
	struct ebt_probe p;
	if ((unsigned int)phase >= COUNT(phase_names) || !ebt_enter(&p))
		return;
	ebt_record(&p, 2, 0, EBT_RING_END, phase, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_end(phase, phase_names[phase], ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}

void ebt_emit_counter(enum ebt_counter counter, uint64_t value)
{
	struct ebt_probe p;
	if ((unsigned int)counter >= COUNT(counter_names) || !ebt_enter(&p))
		return;
	ebt_record(&p, 3, 0, EBT_RING_COUNTER, counter, value);
	if (unlikely(ebt_traced()))
		ebt_marker_counter(counter, counter_names[counter], value, ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
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
	struct ebt_probe p;
	if (!ebt_enter(&p))
		return;
	/* Exchanged one by one, so that a handler's count is in this event or the next. */
	uint64_t buckets[EBT_ALLOC_BUCKETS];
	for (unsigned int i = 0; i < EBT_ALLOC_BUCKETS; i++)
		buckets[i] = __atomic_exchange_n(&ebt_self.buckets[i], 0, __ATOMIC_RELAXED);
	if (p.slot) {
		uint64_t *payload =
			ebt_record_open(&p, 2 + EBT_ALLOC_BUCKETS, 0, EBT_RING_ALLOC, 0);
		for (unsigned int i = 0; i < EBT_ALLOC_BUCKETS; i++)
			ebt_ring_store(&payload[i], buckets[i]);
		ebt_record_close(&p, 2 + EBT_ALLOC_BUCKETS);
	}
	if (ebt_traced())
		marker_alloc_sizes(buckets, ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}
