/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of events in reports: in text their innermost functions, without those of a language's
 * runtime that are on top; in JSON as in NDJSON. */
#ifndef REPORT_STACK_H
#define REPORT_STACK_H

#include "base/buf.h"
#include "base/json.h"
#include "session/session.h"
#include "session/traits.h"

/* Lines of the innermost functions, "        at Calls.collect (calls.ml:20)", and how many more
 * there are. Nothing of stack 0. */
void report_stack_put(struct buf *b, const struct session *s, uint32_t stack);
/* The keys "stack" and "stack_left_out". */
void report_stack_json(struct json *j, const struct session *s, uint32_t stack);
/* The longest block of a stretch of a thread's time, with the stack at its begin, as text and as
 * the key "block". Stack 0: nothing, or null. */
void report_stack_put_block(struct buf *b, const struct session *s, uint32_t stack, uint64_t ns);
void report_stack_json_block(struct json *j, const struct session *s, uint32_t stack, uint64_t ns);
/* The innermost position of a stack with a file: of the program's own code in a language with a
 * runtime if it has any, else of the language's library: C on top of that is the runtime's. NULL:
 * none has. */
const struct frame_position *report_stack_innermost(const struct session *s, uint32_t stack);
/* "calls.ml:20 (Calls.collect)" */
void report_stack_put_position(struct buf *b, const struct session *s,
			       const struct frame_position *at);
/* The language of the code at a position; NULL: not known. */
const struct traits_frames *report_stack_language(const struct session *s,
						  const struct frame_position *p);

#endif
