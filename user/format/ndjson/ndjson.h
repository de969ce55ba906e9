/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON object a line: a header, the events in time order, a summary. Every object has `kind`,
 * every event `ts` (integer ns) and `domain` (-1: none). The header is written with the first
 * event, when the session knows its start. Its fields are fixed by ndjson_schema().
 */
#ifndef FORMAT_NDJSON_NDJSON_H
#define FORMAT_NDJSON_NDJSON_H

#include "base/json.h"
#include "session/session.h"
#include "stream/sink.h"

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int ndjson_new(const struct session *s, int fd, struct sink **ret);
/* The JSON Schema of a line, as a value. */
void ndjson_schema(struct json *j);

#endif
