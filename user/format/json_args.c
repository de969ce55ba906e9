/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/json_args.h"

#include "session/event_args.h"

static void put_arg(struct json *j, const struct event_arg *a)
{
	char text[KINDS_TEXT_BYTES];
	switch ((enum kinds_type)a->arg->type) {
	case KINDS_TYPE_u64:
		json_key_u64(j, a->arg->name, a->value);
		break;
	case KINDS_TYPE_count:
	case KINDS_TYPE_syscall:
		json_key_u64(j, a->arg->name, a->value - 1);
		break;
	case KINDS_TYPE_i64:
		json_key_i64(j, a->arg->name, (int64_t)a->value);
		break;
	case KINDS_TYPE_flag:
		json_key_bool(j, a->arg->name, a->value != 0);
		break;
	case KINDS_TYPE_hex:
	case KINDS_TYPE_alloc_source:
	case KINDS_TYPE_page_cause:
	case KINDS_TYPE_offcpu_reason:
	case KINDS_TYPE_sample_end:
	case KINDS_TYPE_phase:
		json_key_str(j, a->arg->name, kinds_arg_text(a->arg, a->value, text));
		break;
	case KINDS_TYPE_text:
	case KINDS_TYPE_quoted:
		json_key_str(j, a->arg->name, a->text);
		break;
	case KINDS_TYPE_any:
	case KINDS_TYPE_unreadable:
		json_key_null(j, a->arg->name);
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
	enum kinds_payload rest = event_args_rest(s, ev);
	struct eio_record r;
	struct event_arg arg;
	/* Readers of the lines of a kind rely on its value, whatever it means. */
	if (ev->kind == EBT_INT && event_args_meaning(s, ev, &r))
		json_key_i64(j, "value", ev->sarg[0]);
	for (unsigned at = 0; event_args_next(s, ev, &at, &arg);)
		put_arg(j, &arg);
	if (rest == KINDS_PAYLOAD_words || rest == KINDS_PAYLOAD_bytes)
		put_payload(j, s, ev, rest);
	else if (event_args_cut(ev))
		json_key_bool(j, "cut", true);
}
