// SPDX-License-Identifier: BSD-2-Clause
/* The probes of pages. */
#include <ebtrace/probes.h>

#include "gate.h"
#include "marker.h"
#include "page_trace.h"
#include "record.h"
#include "settings.h"

#define DEFINE_MARKER(marker)                                                                     \
	EBT_ONE_SITE static void marker_##marker(uint64_t addr, uint64_t pages,                   \
						 struct ebt_tail tail)                            \
	{                                                                                         \
		EBT_FIRE(#marker, "ebt_page_gate_own",                                            \
			 EBT_ARG_VALUE " " EBT_ARG_BYTES " " EBT_TAIL_ARGS, 0, NULL, addr, pages, \
			 tail);                                                                   \
	}
DEFINE_MARKER(page_alloc)
DEFINE_MARKER(page_free)
DEFINE_MARKER(page_scavenge)

/* With a listener, or with none and no trace any more. */
static __attribute__((noinline, cold)) void emit_slow(enum ebt_pagetrace_what what, uint64_t addr,
						      uint64_t pages)
{
	if (!ebt_pagetrace_is_run(addr, pages)) {
		ebt_page_trace_lose();
		return;
	}
	uint64_t ts = ebt_page_trace_write(what, addr, pages);
	if (!ebt_listened(&ebt_page_gate_own.events))
		return;
	struct ebt_tail tail = ebt_tail_without_ring();
	if (ts)
		tail.ts = ts;
	if (what == EBT_PAGETRACE_ALLOC)
		marker_page_alloc(addr, pages, tail);
	else if (what == EBT_PAGETRACE_FREE)
		marker_page_free(addr, pages, tail);
	else
		marker_page_scavenge(addr, pages, tail);
}

/* The trace refuses what is no run by itself. */
ALWAYS_INLINE void emit(enum ebt_pagetrace_what what, const void *addr, size_t pages)
{
	if (likely(!__atomic_load_n(&ebt_page_gate_own.events, __ATOMIC_RELAXED)))
		ebt_page_trace_write(what, (uintptr_t)addr, pages);
	else
		emit_slow(what, (uintptr_t)addr, pages);
}

void ebt_emit_page_alloc(const void *addr, size_t pages)
{
	emit(EBT_PAGETRACE_ALLOC, addr, pages);
}

void ebt_emit_page_free(const void *addr, size_t pages)
{
	emit(EBT_PAGETRACE_FREE, addr, pages);
}

void ebt_emit_page_scavenge(const void *addr, size_t pages)
{
	emit(EBT_PAGETRACE_SCAVENGE, addr, pages);
}

/* Behind the constructor of process.c, and before those of the program. */
__attribute__((constructor(102))) static void library_loaded(void)
{
	ebt_page_trace_failed(ebt_setting_start("EBTRACE_PAGETRACE", ebt_page_trace_start));
}
