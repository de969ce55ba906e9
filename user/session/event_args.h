/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of an event, those in its payload included, in the order of events.def. A payload
 * of arguments is EVENT_ARGS_TEXTS names of EVENT_ARGS_TEXT_BYTES, cut or padded with zeroes, and
 * as many words of 64 bits as the kind has, at most EVENT_ARGS_WORDS. It may come from a capture:
 * what it does not hold is absent, or 0.
 */
#ifndef SESSION_EVENT_ARGS_H
#define SESSION_EVENT_ARGS_H

#include "session/kinds.h"
#include "session/session.h"
#include <stddef.h>

#define EVENT_ARGS_WORDS      16
#define EVENT_ARGS_TEXTS      2
#define EVENT_ARGS_TEXT_BYTES 16

struct event_args_payload {
	char text[EVENT_ARGS_TEXTS][EVENT_ARGS_TEXT_BYTES]; /* not always with a final 0 */
	uint64_t word[EVENT_ARGS_WORDS];
};

/* The bytes of a payload with this number of words. */
#define EVENT_ARGS_BYTES(words) (offsetof(struct event_args_payload, word) + 8 * (words))

struct event_arg {
	const struct kinds_arg *arg;
	uint64_t value;
	const char *text; /* in `scratch`, safe for a terminal; NULL: it is no text */
	char scratch[EVENT_ARGS_TEXT_BYTES + 1];
};

/* The arguments in the payload of an event; all zero without a payload. Only for kinds with
 * arguments in the payload. */
void event_args_payload(const struct session *s, const struct ebt_event *ev,
			struct event_args_payload *ret);
/* The next argument that the event has; *at is 0 at first, and then 1 more than the argument's
 * place among those of the kind. False: no more. */
bool event_args_next(const struct session *s, const struct ebt_event *ev, unsigned *at,
		     struct event_arg *ret);

#endif
