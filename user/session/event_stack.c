/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/event_stack.h"

#include <string.h>

#include "base/plural.h"

uint32_t event_stack_left_out_long(const struct session *s, uint32_t stack)
{
	uint32_t texts = stacks_texts(s->stacks, stack), shown = 0;
	size_t bytes = 0;
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		for (uint32_t i = frames_texts(f); i-- > 0; shown++) {
			bytes += frames_text_bytes(s->frames, f, i);
			/* One is always shown. */
			if (shown == s->max_stack || (shown && bytes > EVENT_STACK_BYTES))
				return texts - shown;
		}
	}
	return 0;
}

uint32_t event_stack_lines(const struct session *s, uint32_t stack, const char *indent,
			   size_t max_bytes, struct buf *out)
{
	struct event_stack_walk w;
	struct buf one;
	uint32_t lines = 0, texts = stacks_texts(s->stacks, stack);
	size_t bytes = 0, indent_bytes = strlen(indent);
	bool fits = buf_init_part(&one, out);
	event_stack_begin(&w, s, stack);
	while (fits && event_stack_next(&w)) {
		/* Of functions that were inlined the innermost is the last. */
		for (uint32_t i = frames_texts(w.frame); fits && i-- > w.first;) {
			one.len = 0;
			frames_put_text(s->frames, w.frame, i, &one);
			size_t line_bytes = indent_bytes + one.len + 1;
			fits = line_bytes <= max_bytes - bytes;
			if (!fits)
				break;
			buf_puts(out, indent);
			buf_put_plain(out, buf_str(&one));
			buf_puts(out, "\n");
			bytes += line_bytes;
			lines++;
		}
	}
	if (lines < texts) {
		buf_puts(out, indent);
		buf_puts(out, "(");
		buf_put_u64(out, texts - lines);
		buf_puts(out,
			 plural_of(texts - lines, " frame left out)\n", " frames left out)\n"));
	}
	buf_done_part(&one, out);
	return lines;
}

void event_stack_json_left_out(const struct session *s, uint32_t stack, struct json *j)
{
	uint32_t left_out = event_stack_left_out(s, stack);
	if (left_out)
		json_key_u64(j, "stack_left_out", left_out);
}

void event_stack_json(const struct session *s, uint32_t stack, struct json *j)
{
	struct event_stack_walk w;
	struct buf one;
	if (!buf_init_part(&one, j->out))
		return;
	json_key_open(j, "stack", '[');
	event_stack_begin(&w, s, stack);
	while (event_stack_next(&w)) {
		for (uint32_t i = frames_texts(w.frame); i-- > w.first;) {
			one.len = 0;
			frames_put_text(s->frames, w.frame, i, &one);
			json_string(j, one.data, one.len);
		}
	}
	json_close(j, ']');
	event_stack_json_left_out(s, stack, j);
	buf_done_part(&one, j->out);
}
