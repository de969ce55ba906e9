/* SPDX-License-Identifier: BSD-2-Clause */
/* User events: their registration and their probes. */
#include <errno.h>
#include <string.h>

#include <ebtrace/event.h>
#include <ebtrace/probes.h>

#include "entry.h"
#include "gate.h"
#include "lock.h"
#include "marker.h"
#include "names.h"
#include "record.h"
#include "recording.h"

EBT_DEFINE_MARKER(user_unit)
EBT_DEFINE_VALUE_MARKER(user_int, EBT_ARG_SIGNED_VALUE)
EBT_DEFINE_MARKER(user_span_begin)
EBT_DEFINE_MARKER(user_span_end)

EBT_ONE_SITE static void marker_user_custom(uint32_t id, const void *payload, size_t bytes,
					    struct ebt_tail tail)
{
	EBT_FIRE("user_custom", EBT_SEMAPHORE_EVENTS,
		 EBT_ARG_ID " " EBT_ARG_NAME " " EBT_ARG_VALUE " " EBT_ARG_BYTES " " EBT_TAIL_ARGS,
		 id, ebt_user_names[id], (uintptr_t)payload, bytes, tail);
}
int ebt_register(const char *name, enum ebt_user_type type)
{
	size_t len = name ? strnlen(name, EBT_RING_NAME_BYTES) : 0;
	if (!len || len == EBT_RING_NAME_BYTES || (unsigned int)type > EBT_USER_CUSTOM)
		return -EINVAL;
	ebt_recording_lock();
	int id = ebt_names_register(ebt_current_file(), name, len, type);
	ebt_unlock();
	return id;
}

void ebt_emit_unit(int event)
{
	struct ebt_probe p;
	if (!ebt_user_event_is(event, EBT_USER_UNIT) || !ebt_enter(&p))
		return;
	ebt_record(&p, 2, 1, EBT_RING_USER_UNIT, (uint64_t)event, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_user_unit((uint32_t)event, ebt_user_names[event], ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}

void ebt_emit_int(int event, int64_t value)
{
	struct ebt_probe p;
	if (!ebt_user_event_is(event, EBT_USER_INT) || !ebt_enter(&p))
		return;
	ebt_record(&p, 3, 1, EBT_RING_USER_INT, (uint64_t)event, (uint64_t)value);
	if (unlikely(ebt_traced()))
		ebt_marker_user_int((uint32_t)event, ebt_user_names[event], (uint64_t)value,
				    ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}

void ebt_emit_span_begin(int event)
{
	struct ebt_probe p;
	if (!ebt_user_event_is(event, EBT_USER_SPAN) || !ebt_enter(&p))
		return;
	ebt_record(&p, 2, 1, EBT_RING_USER_SPAN_BEGIN, (uint64_t)event, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_user_span_begin((uint32_t)event, ebt_user_names[event],
					   ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}

void ebt_emit_span_end(int event)
{
	struct ebt_probe p;
	if (!ebt_user_event_is(event, EBT_USER_SPAN) || !ebt_enter(&p))
		return;
	ebt_record(&p, 2, 1, EBT_RING_USER_SPAN_END, (uint64_t)event, 0);
	if (unlikely(ebt_traced()))
		ebt_marker_user_span_end((uint32_t)event, ebt_user_names[event],
					 ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}

/* The payload's words, the last of them with the number of unused bytes in its last byte. */
static void custom_record(struct ebt_probe *p, int event, const void *payload, size_t bytes)
{
	uint64_t words = bytes / 8 + 1;
	uint64_t last = 0;
	uint64_t *to = ebt_record_open(p, 2 + words, 1, EBT_RING_USER_CUSTOM, (uint64_t)event);
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
	ebt_record_close(p, 2 + words);
}

void ebt_emit_custom(int event, const void *payload, size_t bytes)
{
	struct ebt_probe p;
	if (!ebt_user_event_is(event, EBT_USER_CUSTOM) || !ebt_enter(&p))
		return;
	uint64_t n = 2 + bytes / 8 + 1;
	if (bytes > EBT_CUSTOM_MAX_BYTES || (p.slot && n > p.slot->ring.elements / 2)) {
		if (p.slot)
			ebt_record_drop(p.slot);
		ebt_record_leave(&p);
		return;
	}
	if (p.slot)
		custom_record(&p, event, payload, bytes);
	if (unlikely(ebt_traced()))
		marker_user_custom((uint32_t)event, payload, bytes, ebt_record_tail(&p));
	ebt_record_watermark(&p);
	ebt_record_leave(&p);
}
