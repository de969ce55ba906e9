/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of an event, those in its payload included, in the order of events.def. A payload
 * of arguments is EVENT_ARGS_TEXTS names of EVENT_ARGS_TEXT_BYTES, cut or padded with zeroes, and
 * as many words of 64 bits as the kind has, at most EVENT_ARGS_WORDS. It may come from a capture:
 * what it does not hold is absent, or 0. A payload of values is as session/marker_values.h has it.
 *
 * A user event of a library that is known (codec/eio) has the arguments of its meaning instead of
 * the value or the bytes of its kind, if its payload has their shape: a fiber, a context, an
 * operation. They are decoded when they are asked for, so events and captures are as recorded.
 */
#ifndef SESSION_EVENT_ARGS_H
#define SESSION_EVENT_ARGS_H

#include "codec/eio/eio.h"
#include "session/kinds.h"
#include "session/marker_values.h"
#include "session/session.h"
#include <stddef.h>

#define EVENT_ARGS_WORDS      16
#define EVENT_ARGS_TEXTS      2
#define EVENT_ARGS_TEXT_BYTES 16
/* Of the text of a meaning: more than a record of a ring holds. What is longer is cut. */
#define EVENT_ARGS_LONG_BYTES 8192

struct event_args_payload {
	char text[EVENT_ARGS_TEXTS][EVENT_ARGS_TEXT_BYTES]; /* not always with a final 0 */
	uint64_t word[EVENT_ARGS_WORDS];
};

/* The bytes of a payload with this number of words. */
#define EVENT_ARGS_BYTES(words) (offsetof(struct event_args_payload, word) + 8 * (words))

struct event_arg {
	const struct kinds_arg *arg; /* of a value it has the value's own type */
	uint64_t value;
	/* In `scratch`, or static; NULL: it is no text. It is UTF-8 without controls, but for that
	 * of a meaning, which may have them, and one that is quoted, which has any byte. */
	const char *text;
	char scratch[EVENT_ARGS_LONG_BYTES + 1];
	struct kinds_arg own; /* `arg` of a value */
};

/* The lists of arguments: of each kind, then of each event that has a meaning. */
#define EVENT_ARGS_LISTS (EBT_KINDS + EIO_EVENTS)

/* The arguments in the payload of an event; all zero without a payload. Only for kinds with
 * arguments in the payload. */
void event_args_payload(const struct session *s, const struct ebt_event *ev,
			struct event_args_payload *ret);
/* Which event of a known library a user event is by its name; EIO_NONE: of none. */
static inline enum eio_event event_args_event(const struct session *s, const struct ebt_event *ev)
{
	return kinds_is_named_by_program(ev->kind)
		       ? (enum eio_event)processes_user_meaning(&s->processes, ev->process, ev->id)
		       : EIO_NONE;
}
/* What it means, of any such event. False: its payload is malformed. */
static inline bool event_args_decode(const struct session *s, const struct ebt_event *ev,
				     enum eio_event e, struct eio_record *ret)
{
	size_t bytes = 0;
	const void *data = ev->kind == EBT_CUSTOM ? session_blob(s, ev, &bytes) : NULL;
	return eio_decode(e, ev, data, bytes, ret);
}
/* What a user event means. False: nothing that is known. */
static inline bool event_args_meaning(const struct session *s, const struct ebt_event *ev,
				      struct eio_record *ret)
{
	enum eio_event e = event_args_event(s, ev);
	return e != EIO_NONE && event_args_decode(s, ev, e, ret);
}
/* Whether user events of this kind and name have a meaning, unless a payload is malformed. */
static inline bool event_args_may_mean(const struct session *s, const struct ebt_event *ev)
{
	return event_args_event(s, ev) != EIO_NONE;
}
/* The list of arguments of an event, in *ret_list its number below EVENT_ARGS_LISTS. */
const struct kinds_arg *event_args_list(const struct session *s, const struct ebt_event *ev,
					unsigned *ret_list);
/* The list of the events that an enum eio_event numbers. */
const struct kinds_arg *event_args_of_meaning(unsigned event);
/* The payload that an event has besides its arguments: none where they have decoded it. */
enum kinds_payload event_args_rest(const struct session *s, const struct ebt_event *ev);
/* Whether an argument of the event is not whole. */
static inline bool event_args_cut(const struct ebt_event *ev)
{
	unsigned payload = kinds_get(ev->kind)->payload;
	return ev->flags & EBT_F_CUT &&
	       (payload == KINDS_PAYLOAD_bytes || payload == KINDS_PAYLOAD_values);
}
/* The next argument that the event has; *at is 0 at first, and then 1 more than the argument's
 * place in its list. False: no more. */
bool event_args_next(const struct session *s, const struct ebt_event *ev, unsigned *at,
		     struct event_arg *ret);

#endif
