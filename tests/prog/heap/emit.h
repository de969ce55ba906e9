/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes that are counted: each wrapper calls one probe of <ebtrace/probes.h> and notes it in the
 * calling domain's struct emit. `passed` counts the probes that were reached, listened to or not:
 * it ends and paces a run. `n` counts those that somebody listened to, so what a tracer must have
 * delivered or reported as lost. A listener that comes or goes between the test and the probe may
 * shift a count by one: tests attach before the work starts, and compare after it ended.
 */
#ifndef MINIGC_EMIT_H
#define MINIGC_EMIT_H

#include <ebtrace/probes.h>
#include <stdbool.h>

enum emit_kind {
	EMIT_BEGIN,
	EMIT_END,
	EMIT_COUNTER,
	EMIT_ALLOC_SIZES,
	EMIT_UNIT,
	EMIT_INT,
	EMIT_SPAN_BEGIN,
	EMIT_SPAN_END,
	EMIT_CUSTOM,
	EMIT_KINDS,
};

struct emit {
	uint64_t passed;
	uint64_t n[EMIT_KINDS];
};

/* The user events of the program; ids from ebt_register(). */
struct emit_user {
	int safepoint; /* unit */
	int live_keys; /* int */
	int batch;     /* span */
	int trace;     /* custom: 0 to 511 bytes */
};

static inline bool emit_count(struct emit *e, enum emit_kind kind)
{
	e->passed++;
	if (!ebt_enabled())
		return false;
	e->n[kind]++;
	return true;
}

static inline void emit_begin(struct emit *e, enum ebt_phase phase)
{
	if (emit_count(e, EMIT_BEGIN))
		ebt_begin(phase);
}
static inline void emit_end(struct emit *e, enum ebt_phase phase)
{
	if (emit_count(e, EMIT_END))
		ebt_end(phase);
}
static inline void emit_counter(struct emit *e, enum ebt_counter counter, uint64_t value)
{
	if (emit_count(e, EMIT_COUNTER))
		ebt_counter(counter, value);
}
static inline void emit_alloc_flush(struct emit *e)
{
	if (emit_count(e, EMIT_ALLOC_SIZES))
		ebt_alloc_flush();
}
static inline void emit_unit(struct emit *e, int event)
{
	if (emit_count(e, EMIT_UNIT))
		ebt_unit(event);
}
static inline void emit_int(struct emit *e, int event, int64_t value)
{
	if (emit_count(e, EMIT_INT))
		ebt_int(event, value);
}
static inline void emit_span_begin(struct emit *e, int event)
{
	if (emit_count(e, EMIT_SPAN_BEGIN))
		ebt_span_begin(event);
}
static inline void emit_span_end(struct emit *e, int event)
{
	if (emit_count(e, EMIT_SPAN_END))
		ebt_span_end(event);
}
static inline void emit_custom(struct emit *e, int event, const void *payload, size_t bytes)
{
	if (emit_count(e, EMIT_CUSTOM))
		ebt_custom(event, payload, bytes);
}

#endif
