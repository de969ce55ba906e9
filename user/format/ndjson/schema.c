/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"
#include "format/ndjson/ndjson.h"
#include "session/event_args.h"
#include "session/kinds.h"
#include "session/totals.h"

/* Fields that are no arguments of a kind: of the header, of every event, of the summary. */
static const struct {
	const char *name, *schema;
} fields[] = {
#define INTEGER	 "{\"type\":\"integer\"}"
#define NULLABLE "{\"type\":[\"integer\",\"null\"]}"
#define STRING	 "{\"type\":\"string\"}"
#define TRUE	 "{\"const\":true}"
	{"schema", "{\"const\":1}"},
	{"source", STRING}, /* also of an allocation */
	{"clock", STRING},
	{"start_ns", INTEGER},
	{"producer", STRING},
	{"runtime", STRING},
	{"comm", STRING},

	{"kind", STRING},
	{"ts", INTEGER},
	{"domain", "{\"type\":\"integer\",\"minimum\":-1}"},
	{"pid", INTEGER},
	{"tid", INTEGER},
	{"cpu", INTEGER},
	{"pos", INTEGER},
	{"stack", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
	{"stack_left_out", INTEGER}, /* functions outside of those */
	{"history", TRUE},
	{"cut", TRUE},
	{"late", "{\"type\":[\"boolean\",\"integer\"]}"}, /* an event is; the summary counts */
	{"id", INTEGER},
	{"name", STRING},
	{"change", "{\"enum\":["
#define EBT_PROCESS_CHANGE_DEF(value, CONSTANT, name) "\"" #name "\","
#include <ebtrace/events.def>
		   "\"unknown\"]}"},
	{"values", "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"},
	{"data", "{\"type\":\"string\",\"pattern\":\"^([0-9a-f]{2})*$\"}"},
	{"what", STRING}, /* of damage */
	{"path", STRING}, /* of a module */
	{"build_id", "{\"type\":\"string\",\"pattern\":\"^([0-9a-f]{2})+$\"}"},
};

static const char *schema_of(const struct kinds_arg *a)
{
	switch ((enum kinds_type)a->type) {
	case KINDS_TYPE_u64:
	case KINDS_TYPE_i64:
	case KINDS_TYPE_count:
	case KINDS_TYPE_syscall:
		return INTEGER;
	case KINDS_TYPE_flag:
		return TRUE;
	case KINDS_TYPE_hex:
		return "{\"type\":\"string\",\"pattern\":\"^0x[0-9a-f]+$\"}";
	case KINDS_TYPE_alloc_source:
	case KINDS_TYPE_page_cause:
	case KINDS_TYPE_offcpu_reason:
	case KINDS_TYPE_sample_end:
	case KINDS_TYPE_phase:
	case KINDS_TYPE_text:
	case KINDS_TYPE_quoted:
		break;
	case KINDS_TYPE_any:
	case KINDS_TYPE_unreadable:
		return "{\"type\":[\"integer\",\"string\",\"null\"]}";
	}
	return STRING;
}

static bool is_field(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strcmp(fields[i].name, name))
			return true;
	return false;
}

/* Rows of the summary, all that there are, and all unknown that may be. */
static bool next_total(unsigned *at, struct totals_row *ret)
{
	static const struct totals any = {
		.lost_uncounted = 1, .history_uncounted = 1, .unwatched = 1};
	return totals_next(&any, false, at, ret);
}

/* The lists of arguments, of kinds and of meanings, by number. */
static const struct kinds_arg *list_at(unsigned list)
{
	return list < EBT_KINDS ? kinds_get((uint16_t)list)->args
				: event_args_of_meaning(list - EBT_KINDS);
}

/* Whether a list before this one has an argument of this name, or it is declared before all
 * lists. */
static bool is_declared(unsigned list, const char *name)
{
	struct totals_row row;
	if (is_field(name))
		return true;
	for (unsigned at = 0; next_total(&at, &row);)
		if (!strcmp(row.key, name))
			return true;
	for (unsigned l = 0; l < list; l++)
		for (const struct kinds_arg *a = list_at(l); a->name; a++)
			if (!strcmp(a->name, name))
				return true;
	return false;
}

static void put_property(struct json *j, const char *name, const char *schema)
{
	json_key(j, name);
	json_raw(j, schema);
}

static void put_properties(struct json *j)
{
	json_key_open(j, "properties", '{');
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		put_property(j, fields[i].name, fields[i].schema);
	struct totals_row row;
	for (unsigned at = 0; next_total(&at, &row);)
		if (!is_field(row.key))
			put_property(j, row.key, row.known ? INTEGER : NULLABLE);
	for (unsigned l = 0; l < EVENT_ARGS_LISTS; l++)
		for (const struct kinds_arg *a = list_at(l); a->name; a++)
			if (!is_declared(l, a->name))
				put_property(j, a->name, schema_of(a));
	json_close(j, '}');
}

static void put_name(struct json *j, const char *name)
{
	json_string(j, name, strlen(name));
}

/* What the lines of a kind always have. */
static void put_kind(struct json *j, const struct kind *kind)
{
	/* An event may have arguments instead of bytes. */
	static const char *const payloads[] = {
		[KINDS_PAYLOAD_words] = "values",
		[KINDS_PAYLOAD_bytes] = NULL,
		[KINDS_PAYLOAD_args] = NULL,
		[KINDS_PAYLOAD_values] = NULL,
	};
	json_open(j, '{');
	json_key_open(j, "properties", '{');
	json_key_open(j, "kind", '{');
	json_key_str(j, "const", kind->name);
	json_close(j, '}');
	json_close(j, '}');
	json_key_open(j, "required", '[');
	put_name(j, "ts");
	put_name(j, "kind");
	put_name(j, "domain");
	if (kind->label == KINDS_LABEL_change) {
		put_name(j, "change");
	} else if (kind->label != KINDS_LABEL_none) {
		put_name(j, "id");
		put_name(j, "name");
	}
	for (const struct kinds_arg *a = kind->args; a->name; a++)
		if (!a->optional)
			put_name(j, a->name);
	if (payloads[kind->payload])
		put_name(j, payloads[kind->payload]);
	if (kind == kinds_get(EBT_DAMAGE))
		put_name(j, "what");
	json_close(j, ']');
	json_close(j, '}');
}

void ndjson_schema(struct json *j)
{
	json_open(j, '{');
	json_key_str(j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_key_str(j, "title", "A line of ebtrace's NDJSON, schema 1");
	json_key_str(j, "type", "object");
	json_key(j, "required");
	json_raw(j, "[\"kind\"]");
	put_properties(j);
	json_key_open(j, "oneOf", '[');
	json_raw(j, "{\"properties\":{\"kind\":{\"const\":\"header\"}},\"required\":"
		    "[\"schema\",\"source\",\"pid\",\"clock\",\"start_ns\"]}");
	json_raw(j, "{\"properties\":{\"kind\":{\"const\":\"summary\"}},\"required\":"
		    "[\"events\",\"lost_events\",\"lost_words\",\"late\",\"damaged\"]}");
	json_raw(j, "{\"properties\":{\"kind\":{\"const\":\"module\"}},\"required\":[\"path\"]}");
	for (uint16_t k = 0; k < EBT_KINDS; k++)
		if (kinds_get(k)->name)
			put_kind(j, kinds_get(k));
	json_close(j, ']');
	json_close(j, '}');
}
