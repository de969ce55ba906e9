/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/event_args.h"

#include "base/utf8.h"
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

bool event_args_next(const struct session *s, const struct ebt_event *ev, unsigned *at,
		     struct event_arg *ret)
{
	const struct kinds_arg *args = kinds_get(ev->kind)->args;
	while (args[*at].name) {
		const struct kinds_arg *a = &args[(*at)++];
		ret->arg = a;
		ret->text = NULL;
		if (a->field >= KINDS_FIELD_word0)
			get(s, ev, ret);
		else
			ret->value = kinds_arg_value(ev, a);
		if (ret->value || !a->optional)
			return true;
	}
	return false;
}
