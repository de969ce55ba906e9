/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/event_args.h"

#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

_Static_assert(KINDS_FIELD_word15 - KINDS_FIELD_word0 + 1 == EVENT_ARGS_WORDS, "one of each word");
_Static_assert(KINDS_FIELD_text1 - KINDS_FIELD_text0 + 1 == EVENT_ARGS_TEXTS, "one of each name");

void event_args_payload(const struct session *s, const struct ebt_event *ev,
			struct event_args_payload *ret)
{
	size_t bytes = 0;
	const void *data = session_blob(s, ev, &bytes);
	memset(ret, 0, sizeof(*ret));
	if (data)
		memcpy(ret, data, bytes < sizeof(*ret) ? bytes : sizeof(*ret));
}

_Static_assert(MARKER_TEXT_MAX <= EVENT_ARGS_LONG_BYTES, "it holds any text");
_Static_assert(KINDS_FIELD_value11 - KINDS_FIELD_value0 + 1 == MARKER_VALUES_MAX, "one of each");

/* An argument of a payload of values. False: there is none. */
static bool get_value(const struct session *s, const struct ebt_event *ev, struct event_arg *arg)
{
	static const uint8_t types[] = {
		[MARKER_UNSIGNED] = KINDS_TYPE_u64,
		[MARKER_SIGNED] = KINDS_TYPE_i64,
		[MARKER_TEXT] = KINDS_TYPE_quoted,
		[MARKER_UNREADABLE] = KINDS_TYPE_unreadable,
	};
	struct marker_value v;
	size_t bytes = 0;
	const void *data = session_blob(s, ev, &bytes);
	if (!marker_values_get(data, bytes, arg->arg->field - KINDS_FIELD_value0, &v))
		return false;
	arg->own = *arg->arg;
	arg->own.type = types[v.type];
	arg->arg = &arg->own;
	arg->value = v.number;
	if (v.type == MARKER_TEXT) {
		memcpy(arg->scratch, v.text, v.bytes);
		arg->scratch[v.bytes] = 0;
		arg->text = arg->scratch;
	}
	return true;
}

/* Of an argument in the payload. */
static void get(const struct session *s, const struct ebt_event *ev, struct event_arg *arg)
{
	struct event_args_payload p;
	unsigned field = arg->arg->field;
	event_args_payload(s, ev, &p);
	if (field < KINDS_FIELD_text0) {
		arg->value = p.word[field - KINDS_FIELD_word0];
		return;
	}
	memcpy(arg->scratch, p.text[field - KINDS_FIELD_text0], EVENT_ARGS_TEXT_BYTES);
	arg->scratch[EVENT_ARGS_TEXT_BYTES] = 0;
	utf8_disarm(arg->scratch);
	arg->text = arg->scratch;
	arg->value = *arg->text != 0;
}

/* Fields of a struct eio_record, in place of enum kinds_field. */
enum field { FIELD_ID, FIELD_CONTEXT, FIELD_TYPE, FIELD_TEXT };

#define ID(name)                                      \
	{                                             \
		name, KINDS_TYPE_i64, FIELD_ID, false \
	}
#define TYPE                                               \
	{                                                  \
		"type", KINDS_TYPE_text, FIELD_TYPE, false \
	}
#define TEXT(name)                                       \
	{                                                \
		name, KINDS_TYPE_text, FIELD_TEXT, false \
	}

/* What an eio.name or an eio.error is about may be a fiber, a context or an object. */
static const struct kinds_arg meanings[EIO_EVENTS][3] = {
	[EIO_CREATE_FIBER] = {ID("fiber"), {"context", KINDS_TYPE_i64, FIELD_CONTEXT, false}},
	[EIO_FIBER] = {ID("fiber")},
	[EIO_EXIT_FIBER] = {ID("fiber")},
	[EIO_SUSPEND_FIBER] = {TEXT("operation")},
	[EIO_CREATE_CC] = {ID("context"), TYPE},
	[EIO_CREATE_OBJ] = {ID("object"), TYPE},
	[EIO_NAME] = {ID("of"), TEXT("text")},
	[EIO_GET] = {ID("object")},
	[EIO_TRY_GET] = {ID("object")},
	[EIO_PUT] = {ID("object")},
	[EIO_ENTER_SPAN] = {TEXT("span")},
	[EIO_LOG] = {TEXT("text")},
	[EIO_ERROR] = {ID("of"), TEXT("text")},
	[EIO_DOMAIN_SPAWN] = {ID("parent")},
};

static void copy_text(struct event_arg *arg, const char *text, size_t bytes)
{
	bool is_cut;
	size_t len = utf8_copy(arg->scratch, EVENT_ARGS_LONG_BYTES, text, bytes, &is_cut);
	for (char *p = arg->scratch; (p = memchr(p, 0, len - (size_t)(p - arg->scratch)));)
		*p = '?';
	arg->scratch[len] = 0;
	arg->text = arg->scratch;
	arg->value = 1;
}

static void get_meaning(const struct eio_record *r, struct event_arg *arg)
{
	switch ((enum field)arg->arg->field) {
	case FIELD_ID:
		arg->value = (uint64_t)r->id;
		break;
	case FIELD_CONTEXT:
		arg->value = (uint64_t)r->context;
		break;
	case FIELD_TYPE:
		arg->value = r->type;
		arg->text = eio_type_name(r->type);
		if (!arg->text) {
			snprintf(arg->scratch, sizeof(arg->scratch), "%u", r->type);
			arg->text = arg->scratch;
		}
		break;
	case FIELD_TEXT:
		copy_text(arg, r->text, r->text_bytes);
		break;
	}
}

const struct kinds_arg *event_args_of_meaning(unsigned event)
{
	return meanings[event < EIO_EVENTS ? event : EIO_NONE];
}

const struct kinds_arg *event_args_list(const struct session *s, const struct ebt_event *ev,
					unsigned *ret_list)
{
	struct eio_record r;
	if (!event_args_meaning(s, ev, &r)) {
		*ret_list = ev->kind % EBT_KINDS;
		return kinds_get(ev->kind)->args;
	}
	*ret_list = EBT_KINDS + r.event;
	return meanings[r.event];
}

enum kinds_payload event_args_rest(const struct session *s, const struct ebt_event *ev)
{
	struct eio_record r;
	enum kinds_payload payload = kinds_get(ev->kind)->payload;
	bool is_decoded = payload == KINDS_PAYLOAD_bytes && event_args_meaning(s, ev, &r);
	return is_decoded ? KINDS_PAYLOAD_none : payload;
}

bool event_args_next(const struct session *s, const struct ebt_event *ev, unsigned *at,
		     struct event_arg *ret)
{
	struct eio_record r;
	bool means = event_args_meaning(s, ev, &r);
	const struct kinds_arg *args = means ? meanings[r.event] : kinds_get(ev->kind)->args;
	while (args[*at].name) {
		const struct kinds_arg *a = &args[(*at)++];
		ret->arg = a;
		ret->text = NULL;
		if (means) {
			get_meaning(&r, ret);
		} else if (a->field >= KINDS_FIELD_value0) {
			if (get_value(s, ev, ret))
				return true;
			continue;
		} else if (a->field >= KINDS_FIELD_word0) {
			get(s, ev, ret);
		} else {
			ret->value = kinds_arg_value(ev, a);
		}
		if (ret->value || !a->optional)
			return true;
	}
	return false;
}
