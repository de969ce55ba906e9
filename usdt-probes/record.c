/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

static const char *const lifecycle_names[] = {
#define EBT_LIFECYCLE_ID(id, name, help) [id] = #name,
#include <ebtrace/events.def>
};

EBT_DEFINE_VALUE_MARKER(lifecycle, EBT_ARG_SIGNED_VALUE)

EBT_ONE_SITE void ebt_record_fire_watermark(struct ebt_tail tail)
{
	EBT_FIRE("watermark", EBT_SEMAPHORE_NONE, EBT_TAIL_ARGS, 0, NULL, 0, 0, tail);
}

void ebt_record_drop(struct ebt_slot *s)
{
	__atomic_add_fetch(&s->ring.h->dropped, 1, __ATOMIC_RELAXED);
}

void ebt_record_lifecycle(struct ebt_probe *p, uint32_t id, int64_t data)
{
	ebt_record(p, 3, 0, EBT_RING_LIFECYCLE, id, (uint64_t)data);
	if (ebt_traced())
		ebt_marker_lifecycle(id, lifecycle_names[id], (uint64_t)data, ebt_record_tail(p));
	ebt_record_watermark(p);
	ebt_record_leave(p);
}

void ebt_record_put(uint32_t id, int64_t data, uint32_t state)
{
	struct ebt_probe p;
	struct ebt_slot *s = ebt_self.slot;
	if (!s || s->state != state)
		return;
	if (s->busy) {
		ebt_record_drop(s);
		return;
	}
	s->busy = 1;
	ebt_compiler_barrier();
	ebt_record_stamp(&p, s);
	ebt_record_lifecycle(&p, id, data);
}
