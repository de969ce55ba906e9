/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks as NDJSON has them: an array of strings, the outermost frame first; a frame is as many
 * strings as functions were inlined into it. The strings of frames that came lately are kept, and
 * the whole text of the last stack: most stacks begin like the one before. Of a stack that is
 * longer than the session's max_stack the innermost functions are written, and how many are left
 * out.
 */
#ifndef SESSION_NDJSON_STACKS_H
#define SESSION_NDJSON_STACKS_H

#include "base/json.h"
#include "session/session.h"

struct ndjson_stacks;

/* Keeps the session. 0 or -ENOMEM. */
int ndjson_stacks_new(const struct session *s, struct ndjson_stacks **ret);
void ndjson_stacks_free(struct ndjson_stacks *k); /* NULL is allowed */
/* The next module of a stack's frames that was not returned before, by its first frame; NULL:
 * none. */
const struct frame_module *ndjson_stacks_module(struct ndjson_stacks *k, uint32_t stack);
/* Writes a stack as a value. 0 or -ENOMEM, with an empty array written. */
int ndjson_stacks_put(struct ndjson_stacks *k, struct json *j, uint32_t stack);

#endif
