/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/kinds.h"

#include <inttypes.h>
#include <stdio.h>

#include "session/phases.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct kind kinds_table[EBT_KINDS] = {
#define EBT_ARG(name, type, field)	{#name, KINDS_TYPE_##type, KINDS_FIELD_##field, false},
#define EBT_OPTIONAL(name, type, field) {#name, KINDS_TYPE_##type, KINDS_FIELD_##field, true},
#define EBT_KIND_DEF(value, KIND, kind_name, kind_family, kind_label, kind_args, kind_payload, \
		     text)                                                                     \
	[value] = {.name = #kind_name,                                                         \
		   .help = text,                                                               \
		   .family = KINDS_##kind_family,                                              \
		   .label = KINDS_LABEL_##kind_label,                                          \
		   .payload = KINDS_PAYLOAD_##kind_payload,                                    \
		   .args = {kind_args}},
#include <ebtrace/events.def>
};

/* A list of arguments ends with a row of zeroes. */
#define EBT_ARG(name, type, field)	+1
#define EBT_OPTIONAL(name, type, field) +1
#define EBT_KIND_DEF(value, KIND, kind_name, kind_family, kind_label, kind_args, kind_payload, \
		     text)                                                                     \
	_Static_assert(0 kind_args <= KINDS_ARGS, "room for the arguments of " #KIND);
#include <ebtrace/events.def>

static const struct {
	const char *name, *help;
	enum kinds_unit unit;
} counters[] = {
#define EBT_COUNTER_ID(id, name, unit, help) [id] = {#name, help, KINDS_UNIT_##unit},
#include <ebtrace/events.def>
};

static const struct {
	const char *name, *help;
} lifecycles[] = {
#define EBT_LIFECYCLE_ID(id, name, help) [id] = {#name, help},
#include <ebtrace/events.def>
};

static const char *const changes[] = {
#define EBT_PROCESS_CHANGE_DEF(value, CONSTANT, name) [value] = #name,
#include <ebtrace/events.def>
};

static const char *const alloc_sources[] = {
#define EBT_ALLOC_SOURCE_DEF(value, CONSTANT, name) [value] = #name,
#include <ebtrace/events.def>
};

static const char *const page_causes[] = {
#define EBT_PAGE_CAUSE_DEF(value, CONSTANT, name, help) [value] = #name,
#include <ebtrace/events.def>
};

const char *kinds_page_cause_name(uint64_t cause)
{
	return cause < COUNT(page_causes) ? page_causes[cause] : "unknown";
}

static const char *const offcpu_reasons[] = {
#define EBT_OFFCPU_REASON_DEF(value, CONSTANT, name, help) [value] = #name,
#include <ebtrace/events.def>
};

const char *kinds_offcpu_reason_name(uint64_t reason)
{
	return reason < COUNT(offcpu_reasons) ? offcpu_reasons[reason] : "unknown";
}

static const struct {
	const char *name, *help;
} sample_ends[] = {
#define EBT_SAMPLE_END_DEF(value, CONSTANT, name, help) [value] = {#name, help},
#include <ebtrace/events.def>
};

const char *kinds_sample_end_name(uint64_t end)
{
	return end < COUNT(sample_ends) ? sample_ends[end].name : "unknown";
}

const char *kinds_sample_end_help(uint64_t end)
{
	return end < COUNT(sample_ends) ? sample_ends[end].help : "unknown";
}

const char *kinds_name(uint16_t kind)
{
	const char *name = kinds_get(kind)->name;
	return name ? name : "unknown";
}

const char *kinds_label_name(enum kinds_label label)
{
	static const char *const names[] = {
		[KINDS_LABEL_phase] = "phase",	       [KINDS_LABEL_counter] = "counter",
		[KINDS_LABEL_lifecycle] = "lifecycle", [KINDS_LABEL_user] = "user",
		[KINDS_LABEL_change] = "change",
	};
	return names[label];
}

uint64_t kinds_arg_value(const struct ebt_event *ev, const struct kinds_arg *a)
{
	switch ((enum kinds_field)a->field) {
	case KINDS_FIELD_arg0:
		return ev->arg[0];
	case KINDS_FIELD_arg1:
		return ev->arg[1];
	case KINDS_FIELD_id:
		return ev->id;
	case KINDS_FIELD_seq:
		return ev->seq;
	case KINDS_FIELD_size:
		return ev->size;
	case KINDS_FIELD_pos:
		return ev->pos;
	default:
		return 0;
	}
}

const char *kinds_arg_text(const struct kinds_arg *a, uint64_t value,
			   char scratch[KINDS_TEXT_BYTES])
{
	switch ((enum kinds_type)a->type) {
	case KINDS_TYPE_u64:
	case KINDS_TYPE_flag:
		snprintf(scratch, KINDS_TEXT_BYTES, "%" PRIu64, value);
		break;
	case KINDS_TYPE_i64:
		snprintf(scratch, KINDS_TEXT_BYTES, "%" PRId64, (int64_t)value);
		break;
	case KINDS_TYPE_hex:
		snprintf(scratch, KINDS_TEXT_BYTES, "0x%" PRIx64, value);
		break;
	case KINDS_TYPE_alloc_source:
		return value < COUNT(alloc_sources) ? alloc_sources[value] : "unknown";
	case KINDS_TYPE_page_cause:
		return kinds_page_cause_name(value);
	case KINDS_TYPE_offcpu_reason:
		return kinds_offcpu_reason_name(value);
	case KINDS_TYPE_sample_end:
		return kinds_sample_end_name(value);
	case KINDS_TYPE_phase:
		return value <= UINT32_MAX && phases_find((uint32_t)value)
			       ? phases_find((uint32_t)value)->name
			       : "unknown";
	case KINDS_TYPE_count:
	case KINDS_TYPE_syscall:
		snprintf(scratch, KINDS_TEXT_BYTES, "%" PRIu64, value - 1);
		break;
	case KINDS_TYPE_unreadable:
		return "?";
	case KINDS_TYPE_text:
	case KINDS_TYPE_any:
	case KINDS_TYPE_quoted:
		return "";
	}
	return scratch;
}

const char *kinds_phase_name(uint32_t id)
{
	const struct traits_phase *p = phases_find(id);
	return p ? p->name : NULL;
}

const char *kinds_counter_name(uint32_t id)
{
	return id < COUNT(counters) ? counters[id].name : NULL;
}

const char *kinds_lifecycle_name(uint32_t id)
{
	return id < COUNT(lifecycles) ? lifecycles[id].name : NULL;
}

const char *kinds_counter_help(uint32_t id)
{
	return id < COUNT(counters) ? counters[id].help : NULL;
}

const char *kinds_lifecycle_help(uint32_t id)
{
	return id < COUNT(lifecycles) ? lifecycles[id].help : NULL;
}

const char *kinds_change_name(uint32_t change)
{
	return change < COUNT(changes) ? changes[change] : "unknown";
}

enum kinds_unit kinds_counter_unit(uint32_t id)
{
	return id < COUNT(counters) ? counters[id].unit : KINDS_UNIT_count;
}

bool kinds_phase_stops(uint32_t id)
{
	const struct traits_phase *p = phases_find(id);
	return !p || p->stop != TRAITS_RUNS;
}
