/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of an event in JSON, as events.def names them: the same fields in NDJSON and in
 * Chrome's args. Of an event with a meaning (session/event_args.h) they are what it means, behind
 * the value of an int. The event's own name and number are its sink's.
 */
#ifndef FORMAT_JSON_ARGS_H
#define FORMAT_JSON_ARGS_H

#include "base/json.h"
#include "session/session.h"

/*
 * Writes fields into the object that is open: each argument, then the payload as `values` (words)
 * or `data` (bytes, in hexadecimal digits, unless arguments hold what they mean), and `cut` where a
 * part of it is missing.
 */
void json_args(struct json *j, const struct session *s, const struct ebt_event *ev);
/* Opens the array of a payload of words, for a sink that formats the words itself. */
void json_args_open_words(struct json *j);

#endif
