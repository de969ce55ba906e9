// SPDX-License-Identifier: BSD-2-Clause
/* The probes of pages. */
#include <stdlib.h>

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

/* True if a marker is to be fired, with this tail. */
ALWAYS_INLINE bool emit(enum ebt_pagetrace_what what, const void *addr, size_t pages,
			struct ebt_tail *ret_tail)
{
	uint64_t ts = 0;
	if (unlikely(!ebt_pagetrace_is_run((uintptr_t)addr, pages))) {
		ebt_page_trace_lose();
		return false;
	}
	if (__atomic_load_n(&ebt_page_gate_own.trace, __ATOMIC_RELAXED))
		ts = ebt_page_trace_write(what, (uintptr_t)addr, pages);
	if (likely(!ebt_listened(&ebt_page_gate_own.events)))
		return false;
	*ret_tail = ebt_tail_without_ring();
	if (ts)
		ret_tail->ts = ts;
	return true;
}

void ebt_emit_page_alloc(const void *addr, size_t pages)
{
	struct ebt_tail tail;
	if (emit(EBT_PAGETRACE_ALLOC, addr, pages, &tail))
		marker_page_alloc((uintptr_t)addr, pages, tail);
}

void ebt_emit_page_free(const void *addr, size_t pages)
{
	struct ebt_tail tail;
	if (emit(EBT_PAGETRACE_FREE, addr, pages, &tail))
		marker_page_free((uintptr_t)addr, pages, tail);
}

void ebt_emit_page_scavenge(const void *addr, size_t pages)
{
	struct ebt_tail tail;
	if (emit(EBT_PAGETRACE_SCAVENGE, addr, pages, &tail))
		marker_page_scavenge((uintptr_t)addr, pages, tail);
}

/* Behind the constructor of process.c, and before those of the program. */
__attribute__((constructor(102))) static void library_loaded(void)
{
	const char *path = ebt_setting("EBTRACE_PAGETRACE", NULL);
	if (!path)
		return;
	ebt_page_trace_start(path);
	unsetenv("EBTRACE_PAGETRACE");
}
