/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/fxt/args.h"

#include "base/utf8.h"
#include "session/event_args.h"
#include "session/event_stack.h"
#include <stdio.h>

/* Values of a marker with an argument each: beside them a record may have its thread, CPU, `late`,
 * `cut`, a stack, and the other values. */
#define VALUES_APART 9
#define QUOTED_BYTES 1024 /* of a text of a marker */
#define MORE_BYTES   4096 /* of the other values */
#define KEY_BYTES    64	  /* a name, and a number */

/* Decimal digits of a word, and a comma. */
#define DIGITS_BYTES 21
/* What follows a stack in its record, and its key. */
#define REST_WORDS 64
#define ROOM_LEAST 1024 /* for less there is no stack */
/* The line with the number of functions that are left out. */
#define LEFT_OUT_BYTES 64

void fxt_args_who(struct fxt_record *r, const struct ebt_event *ev)
{
	if (ev->tid)
		fxt_record_u64(r, "tid", ev->tid);
	if (ev->cpu != EBT_NO_CPU)
		fxt_record_u64(r, "cpu", ev->cpu);
	if (ev->flags & EBT_F_LATE)
		fxt_record_u64(r, "late", 1);
}

static void put_bytes(struct fxt_record *r, const struct session *session,
		      const struct ebt_event *ev)
{
	size_t bytes = 0;
	const void *data = session_blob(session, ev, &bytes);
	bytes = data ? bytes : 0;
	fxt_record_u64(r, "bytes", bytes);
	if (ev->flags & EBT_F_CUT || bytes > FXT_VALUE_BYTES / 2)
		fxt_record_u64(r, "cut", 1);
	fxt_record_hex(r, "data", data, bytes);
}

/* More values than a record has arguments: one string of numbers. */
static void put_words(struct fxt_record *r, const struct session *session,
		      const struct ebt_event *ev)
{
	size_t bytes = 0;
	const char *data = session_blob(session, ev, &bytes);
	char text[FXT_VALUE_BYTES], *p = text;
	bytes = data ? bytes : 0;
	size_t n =
		bytes / 8 < sizeof(text) / DIGITS_BYTES ? bytes / 8 : sizeof(text) / DIGITS_BYTES;
	for (size_t i = 0; i < n; i++) {
		uint64_t v;
		memcpy(&v, data + i * 8, 8);
		if (i)
			*p++ = ',';
		p = buf_format_u64(p, v);
	}
	fxt_record_text(r, "values", text, (size_t)(p - text));
	if (ev->flags & EBT_F_CUT || n < bytes / 8)
		fxt_record_u64(r, "cut", 1);
}

/* A byte that is not UTF-8 becomes three. */
static void put_quoted(struct fxt_record *r, const char *key, const char *s)
{
	char text[QUOTED_BYTES];
	bool is_cut;
	size_t len = utf8_copy(text, sizeof(text), s, strlen(s), &is_cut);
	fxt_record_text(r, key, text, len);
}

static void put_arg(struct fxt_record *r, const struct event_arg *arg)
{
	const struct kinds_arg *a = arg->arg;
	char scratch[KINDS_TEXT_BYTES];
	const char *text;
	switch ((enum kinds_type)a->type) {
	case KINDS_TYPE_u64:
	case KINDS_TYPE_flag:
		fxt_record_u64(r, a->name, arg->value);
		break;
	case KINDS_TYPE_count:
	case KINDS_TYPE_syscall:
		fxt_record_u64(r, a->name, arg->value - 1);
		break;
	case KINDS_TYPE_i64:
		fxt_record_i64(r, a->name, (int64_t)arg->value);
		break;
	case KINDS_TYPE_hex:
		text = kinds_arg_text(a, arg->value, scratch);
		fxt_record_text(r, a->name, text, strlen(text));
		break;
	case KINDS_TYPE_alloc_source:
	case KINDS_TYPE_page_cause:
	case KINDS_TYPE_offcpu_reason:
	case KINDS_TYPE_sample_end:
	case KINDS_TYPE_phase:
		fxt_record_name(r, a->name, kinds_arg_text(a, arg->value, scratch));
		break;
	case KINDS_TYPE_text:
		if (strlen(arg->text) < FXT_NAME_BYTES)
			fxt_record_name(r, a->name, arg->text);
		else
			fxt_record_text(r, a->name, arg->text, strlen(arg->text));
		break;
	case KINDS_TYPE_quoted:
		put_quoted(r, a->name, arg->text);
		break;
	case KINDS_TYPE_any:
	case KINDS_TYPE_unreadable:
		fxt_record_name(r, a->name, "?");
		break;
	}
}

/* The values of a marker from one on: one string, as a record has 15 arguments at most. */
static void put_more(struct fxt_record *r, const struct session *session,
		     const struct ebt_event *ev, unsigned at)
{
	char text[MORE_BYTES], scratch[KINDS_TEXT_BYTES];
	size_t len = 0;
	struct event_arg arg;
	while (len + KEY_BYTES < sizeof(text) && event_args_next(session, ev, &at, &arg)) {
		bool is_cut;
		const char *s = arg.text ? arg.text : kinds_arg_text(arg.arg, arg.value, scratch);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=", len ? " " : "",
					arg.arg->name);
		len += utf8_copy(text + len, sizeof(text) - len, s, strlen(s), &is_cut);
	}
	if (len)
		fxt_record_text(r, "more", text, len);
}

void fxt_args_stack(struct fxt_record *r, const struct session *session, uint32_t stack)
{
	const size_t words = FXT_RECORD_WORDS - REST_WORDS;
	size_t room = r->count < words ? (words - r->count) * sizeof(uint64_t) : 0;
	struct buf text;
	if (!stack || room < ROOM_LEAST || !buf_init_part(&text, r->out))
		return;
	if (room > FXT_VALUE_BYTES)
		room = FXT_VALUE_BYTES;
	event_stack_lines(session, stack, "", room - LEFT_OUT_BYTES, &text);
	fxt_record_text(r, "stack", text.data, text.len ? text.len - 1 : 0);
	buf_done_part(&text, r->out);
}

void fxt_args(struct fxt_record *r, const struct session *session, const struct ebt_event *ev)
{
	enum kinds_payload rest = event_args_rest(session, ev);
	struct event_arg arg;
	unsigned at = 0, n = 0;
	while (n < VALUES_APART || rest != KINDS_PAYLOAD_values) {
		if (!event_args_next(session, ev, &at, &arg))
			break;
		put_arg(r, &arg);
		n++;
	}
	if (n == VALUES_APART)
		put_more(r, session, ev, at);
	if (rest == KINDS_PAYLOAD_words)
		put_words(r, session, ev);
	else if (rest == KINDS_PAYLOAD_bytes)
		put_bytes(r, session, ev);
	else if (event_args_cut(ev))
		fxt_record_u64(r, "cut", 1);
}
