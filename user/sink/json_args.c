/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/json_args.h"

#include "core/kinds.h"

static void put_arg(struct json *j, const struct kinds_arg *a, uint64_t value)
{
	char text[KINDS_TEXT_BYTES];
	switch ((enum kinds_type)a->type) {
	case KINDS_TYPE_u64:
		json_key_u64(j, a->name, value);
		break;
	case KINDS_TYPE_i64:
		json_key_i64(j, a->name, (int64_t)value);
		break;
	case KINDS_TYPE_hex:
	case KINDS_TYPE_alloc_source:
	case KINDS_TYPE_page_cause:
		json_key_str(j, a->name, kinds_arg_text(a, value, text));
		break;
	}
}

static const char words_key[] = "values";

void json_args_open_words(struct json *j)
{
	json_key_open(j, words_key, '[');
}

static void put_payload(struct json *j, const struct session *s, const struct ebt_event *ev,
			enum kinds_payload payload)
{
	size_t bytes = 0;
	const char *data = session_blob(s, ev, &bytes);
	if (!data)
		bytes = 0;
	if (payload == KINDS_PAYLOAD_words) {
		json_key(j, words_key);
		json_words(j, data, bytes / 8);
	} else {
		json_key(j, "data");
		json_hex(j, data, bytes);
	}
	if (ev->flags & EBT_F_CUT)
		json_key_bool(j, "cut", true);
}

void json_args(struct json *j, const struct session *s, const struct ebt_event *ev)
{
	const struct kind *kind = kinds_get(ev->kind);
	for (const struct kinds_arg *a = kind->args; a->name; a++)
		if (kinds_arg_is_present(ev, a))
			put_arg(j, a, kinds_arg_value(ev, a));
	if (kind->payload != KINDS_PAYLOAD_none)
		put_payload(j, s, ev, kind->payload);
}
