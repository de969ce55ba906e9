/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/event_stack.h"

void event_stack_lines(const struct session *s, uint32_t stack, const char *indent, struct buf *out)
{
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		/* Of functions that were inlined the innermost is the last. */
		for (uint32_t i = frames_texts(f); i-- > 0;) {
			buf_puts(out, indent);
			frames_put_text(s->frames, f, i, out);
			buf_puts(out, "\n");
		}
	}
}

void event_stack_json(const struct session *s, uint32_t stack, struct json *j)
{
	struct buf one;
	if (buf_init(&one, -1, BUF_ROOM_MAX))
		return;
	json_key_open(j, "stack", '[');
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		for (uint32_t i = frames_texts(f); i-- > 0;) {
			one.len = 0;
			frames_put_text(s->frames, f, i, &one);
			json_string(j, one.data, one.len);
		}
	}
	json_close(j, ']');
	buf_done(&one);
}
