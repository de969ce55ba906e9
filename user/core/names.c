/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/names.h"

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdio.h>

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

uint32_t names_number(const struct session *s, const struct ebt_event *ev)
{
	bool is_phase = ev->kind == EBT_BEGIN || ev->kind == EBT_END;
	return is_phase ? session_raw_phase(s, ev->pid, ev->id) : ev->id & ~EBT_UNKNOWN_ID;
}

static const char *family_of(uint16_t kind)
{
	switch (kind) {
	case EBT_BEGIN:
	case EBT_END:
		return "phase";
	case EBT_COUNTER:
	case EBT_LIFECYCLE:
		return names_kind(kind);
	case EBT_UNIT:
	case EBT_INT:
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
	case EBT_CUSTOM:
		return "user";
	default:
		return NULL;
	}
}

const char *names_label(const struct session *s, const struct ebt_event *ev,
			char scratch[NAMES_MADE_BYTES])
{
	const char *name = names_event(s, ev), *family = family_of(ev->kind);
	if (name)
		return name;
	if (ev->kind == EBT_PROCESS)
		return names_process_change(ev->id);
	if (!family)
		return names_kind(ev->kind);
	snprintf(scratch, NAMES_MADE_BYTES, "%s_%u", family, names_number(s, ev));
	return scratch;
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
