/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.def as tables: of each kind its name, family, label, arguments and payload; of phases,
 * counters and lifecycles their names, units, and whether they stop the mutator. A name that
 * belongs to one process (of a user event) is found by session/names. Everything here is static and
 * constant.
 */
#ifndef SESSION_KINDS_H
#define SESSION_KINDS_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

enum kinds_family {
	KINDS_NO_FAMILY, /* of a number that is no kind */
	KINDS_runtime,
	KINDS_user,
	KINDS_stream, /* of the tracing itself: passes every filter, and is not counted */
	KINDS_memory,
	KINDS_pages,
	KINDS_sched,
};

/* What the id of an event numbers: that names the event. */
enum kinds_label {
	KINDS_LABEL_none,
	KINDS_LABEL_phase,
	KINDS_LABEL_counter,
	KINDS_LABEL_lifecycle,
	KINDS_LABEL_user,
	KINDS_LABEL_change,
};

enum kinds_type {
	KINDS_TYPE_u64,
	KINDS_TYPE_i64,
	KINDS_TYPE_hex,
	KINDS_TYPE_alloc_source,  /* a word of EBT_ALLOC_SOURCE_DEF */
	KINDS_TYPE_page_cause,	  /* of EBT_PAGE_CAUSE_DEF */
	KINDS_TYPE_offcpu_reason, /* of EBT_OFFCPU_REASON_DEF */
	KINDS_TYPE_sample_end,	  /* of EBT_SAMPLE_END_DEF */
	KINDS_TYPE_phase,	  /* a canonical id */
	KINDS_TYPE_count,	  /* plus 1 */
	KINDS_TYPE_syscall,	  /* a system call's number, plus 1 */
	KINDS_TYPE_flag,	  /* 1 */
	KINDS_TYPE_text,
	KINDS_TYPE_any,	       /* the payload has its type: u64, i64, or one of the next two */
	KINDS_TYPE_quoted,     /* a text of any characters */
	KINDS_TYPE_unreadable, /* it was in memory that could not be read */
};

enum kinds_field {
	KINDS_FIELD_arg0,
	KINDS_FIELD_arg1,
	KINDS_FIELD_id,
	KINDS_FIELD_seq,
	KINDS_FIELD_size,
	KINDS_FIELD_pos,
	/* Of the payload: session/event_args. */
	KINDS_FIELD_word0,
	KINDS_FIELD_word1,
	KINDS_FIELD_word2,
	KINDS_FIELD_word3,
	KINDS_FIELD_word4,
	KINDS_FIELD_word5,
	KINDS_FIELD_word6,
	KINDS_FIELD_word7,
	KINDS_FIELD_word8,
	KINDS_FIELD_word9,
	KINDS_FIELD_word10,
	KINDS_FIELD_word11,
	KINDS_FIELD_word12,
	KINDS_FIELD_word13,
	KINDS_FIELD_word14,
	KINDS_FIELD_word15,
	KINDS_FIELD_text0,
	KINDS_FIELD_text1,
	KINDS_FIELD_value0,
	KINDS_FIELD_value1,
	KINDS_FIELD_value2,
	KINDS_FIELD_value3,
	KINDS_FIELD_value4,
	KINDS_FIELD_value5,
	KINDS_FIELD_value6,
	KINDS_FIELD_value7,
	KINDS_FIELD_value8,
	KINDS_FIELD_value9,
	KINDS_FIELD_value10,
	KINDS_FIELD_value11,
};

enum kinds_payload {
	KINDS_PAYLOAD_none,
	KINDS_PAYLOAD_words,
	KINDS_PAYLOAD_bytes,
	KINDS_PAYLOAD_args,
	KINDS_PAYLOAD_values,
};

enum kinds_unit {
	KINDS_UNIT_count,
	KINDS_UNIT_blocks,
	KINDS_UNIT_words,
	KINDS_UNIT_bytes,
	KINDS_UNIT_work,
};

#define KINDS_ARGS 19 /* the most of a kind */

struct kinds_arg {
	const char *name; /* NULL: behind the last one */
	uint8_t type;	  /* enum kinds_type */
	uint8_t field;	  /* enum kinds_field */
	bool optional;	  /* absent where it is 0 */
};

struct kind {
	const char *name, *help; /* NULL: no kind */
	uint8_t family;		 /* enum kinds_family */
	uint8_t label;		 /* enum kinds_label */
	uint8_t payload;	 /* enum kinds_payload */
	struct kinds_arg args[KINDS_ARGS + 1];
};

/* By number; a row of zeroes where no kind has the number. */
extern const struct kind kinds_table[EBT_KINDS];

/* The row of a kind; one of zeroes for what is no kind. Never NULL. */
static inline const struct kind *kinds_get(uint16_t kind)
{
	return &kinds_table[kind < EBT_KINDS ? kind : EBT_KIND_NONE];
}

/* Whether the payload of the kind is arguments. */
static inline bool kinds_has_arg_payload(const struct kind *k)
{
	return k->payload == KINDS_PAYLOAD_args || k->payload == KINDS_PAYLOAD_values;
}

/* Whether events of the kind have arguments only where they have a payload. */
static inline bool kinds_may_be_bare(const struct kind *k)
{
	return kinds_has_arg_payload(k) && k->label != KINDS_LABEL_none;
}

static inline enum kinds_family kinds_family(uint16_t kind)
{
	return kinds_get(kind)->family;
}

/* Whether events of the kind are those of a domain or thread. */
static inline bool kinds_is_of_lane(uint16_t kind)
{
	enum kinds_family f = kinds_family(kind);
	return f == KINDS_runtime || f == KINDS_user;
}

/* Sets of kinds, a bit each; what is no kind has none. */
_Static_assert(EBT_KINDS <= 64, "a bit for each kind");
static inline uint64_t kinds_bit(uint16_t kind)
{
	return (uint64_t)(kind < EBT_KINDS) << (kind % 64);
}

/* Whether events of the kind have names of the program's own. */
static inline bool kinds_is_named_by_program(uint16_t kind)
{
	static const uint64_t kinds = 0
#define EBT_KIND_DEF(value, KIND, name, family, label, ...) \
	| (uint64_t)(KINDS_LABEL_##label == KINDS_LABEL_user) << (value)
#include <ebtrace/events.def>
		;
	return kinds & kinds_bit(kind);
}

/* "begin", "page_alloc" …; "unknown" for what is no kind. */
const char *kinds_name(uint16_t kind);
/* The event's position in its ring; EBT_NO_POS if it has none, or its kind uses pos for an
 * argument. */
static inline uint64_t kinds_pos(const struct ebt_event *ev)
{
	const struct kinds_arg *a = kinds_get(ev->kind)->args;
	while (a->name && a->field != KINDS_FIELD_pos)
		a++;
	return a->name ? EBT_NO_POS : ev->pos;
}

enum kinds_page_causes {
	KINDS_PAGE_CAUSES = 0 /* their number */
#define EBT_PAGE_CAUSE_DEF(value, CONSTANT, name, help) +1
#include <ebtrace/events.def>
};

/* Name of an enum ebt_page_cause; "unknown" for other values. */
const char *kinds_page_cause_name(uint64_t cause);
/* Name of an enum ebt_offcpu_reason; "unknown" for other values. */
const char *kinds_offcpu_reason_name(uint64_t reason);

enum kinds_sample_ends {
	KINDS_SAMPLE_ENDS = 0 /* their number */
#define EBT_SAMPLE_END_DEF(value, CONSTANT, name, help) +1
#include <ebtrace/events.def>
};

/* Name and meaning of an enum ebt_sample_end; "unknown" for other values. */
const char *kinds_sample_end_name(uint64_t end);
const char *kinds_sample_end_help(uint64_t end);
/* "phase", "user" …; NULL for KINDS_LABEL_none. */
const char *kinds_label_name(enum kinds_label label);
/* The value of an argument; of an i64 its two's complement, of one of the payload 0. */
uint64_t kinds_arg_value(const struct ebt_event *ev, const struct kinds_arg *a);
/* Whether an event has the argument: false for an optional one that is 0. */
static inline bool kinds_arg_is_present(const struct ebt_event *ev, const struct kinds_arg *a)
{
	return !a->optional || kinds_arg_value(ev, a);
}
#define KINDS_TEXT_BYTES 24
/* The text of a value that is no text itself, static or in `scratch`: decimal digits, "0x" and
 * hexadecimal digits, or the value's name, "unknown" beyond the last. */
const char *kinds_arg_text(const struct kinds_arg *a, uint64_t value,
			   char scratch[KINDS_TEXT_BYTES]);

/* By canonical id; NULL for an id that no table knows. */
const char *kinds_phase_name(uint32_t id);
const char *kinds_counter_name(uint32_t id);
const char *kinds_lifecycle_name(uint32_t id);
const char *kinds_counter_help(uint32_t id);
const char *kinds_lifecycle_help(uint32_t id);
/* "fork", "exec", "exit"; "unknown". */
const char *kinds_change_name(uint32_t change);
/* What a counter counts; KINDS_UNIT_count for one that no table knows. */
enum kinds_unit kinds_counter_unit(uint32_t id);
/* True if the phase stops the mutator of the domain; also for a phase that no table knows. */
bool kinds_phase_stops(uint32_t id);

#endif
