/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/names.h"

#include <ebtrace/cursor.h>

const char *names_kind(uint16_t kind)
{
	static const char *const names[] = {
		[EBT_BEGIN] = "begin",
		[EBT_END] = "end",
		[EBT_COUNTER] = "counter",
		[EBT_LIFECYCLE] = "lifecycle",
		[EBT_ALLOC_SIZES] = "alloc_sizes",
		[EBT_UNIT] = "unit",
		[EBT_INT] = "int",
		[EBT_SPAN_BEGIN] = "span_begin",
		[EBT_SPAN_END] = "span_end",
		[EBT_CUSTOM] = "custom",
		[EBT_LOST] = "lost",
		[EBT_DAMAGE] = "damage",
		[EBT_PROCESS] = "process",
		[EBT_ALLOC] = "alloc",
		[EBT_PROMOTE] = "promote",
		[EBT_COLLECT] = "collect",
		[EBT_PAGE_ALLOC] = "page_alloc",
		[EBT_PAGE_FREE] = "page_free",
		[EBT_PAGE_SCAVENGE] = "page_scavenge",
	};
	if (kind >= sizeof(names) / sizeof(*names) || !names[kind])
		return "unknown";
	return names[kind];
}

const char *names_event(const struct session *s, const struct ebt_event *ev)
{
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		return ebt_phase_name(ev->id);
	case EBT_COUNTER:
		return ebt_counter_name(ev->id);
	case EBT_LIFECYCLE:
		return ebt_lifecycle_name(ev->id);
	case EBT_UNIT:
	case EBT_INT:
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
	case EBT_CUSTOM:
		return session_user_name(s, ev->pid, ev->id);
	default:
		return NULL;
	}
}

const char *names_process_change(uint32_t change)
{
	static const char *const names[] = {
		[EBT_PROCESS_FORK] = "fork",
		[EBT_PROCESS_EXEC] = "exec",
		[EBT_PROCESS_EXIT] = "exit",
	};
	return change < sizeof(names) / sizeof(*names) ? names[change] : "unknown";
}
