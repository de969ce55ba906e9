/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stack.h"

#include <inttypes.h>
#include <string.h>

#include "report/text.h"
#include "session/code_language.h"
#include "session/event_stack.h"
#include "session/ndjson_stacks.h"

#define STACK_LINES 6

const struct traits_frames *report_stack_language(const struct session *s,
						  const struct frame_position *p)
{
	return p->file ? code_language(strings_text(s->strings, p->file)) : NULL;
}

/* The lines above that which code of a language with a runtime has called: the runtime's. */
static uint32_t lines_of_runtime(const struct session *s, uint32_t stack)
{
	for (uint32_t lines = 0; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		if (f->count && report_stack_language(s, &f->position[f->count - 1]))
			return lines ? lines - 1 : 0;
		lines += frames_texts(f);
	}
	return 0;
}

/* The innermost of inlined functions is the last position of a frame. */
void report_stack_put(struct buf *b, const struct session *s, uint32_t stack)
{
	uint32_t lines = 0, skipped = lines_of_runtime(s, stack);
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		for (uint32_t i = frames_texts(f); i-- > 0;) {
			struct buf one;
			uint32_t at = lines++;
			if (at < skipped || at >= skipped + STACK_LINES || !buf_init_part(&one, b))
				continue;
			frames_put_text(s->frames, f, i, &one);
			buf_put(&one, "", 1);
			buf_puts(b, "        at ");
			buf_put_plain(b, one.data);
			buf_puts(b, "\n");
			buf_done_part(&one, b);
		}
	}
	if (lines > skipped + STACK_LINES)
		report_print(b, "        (%" PRIu32 " more)\n", lines - skipped - STACK_LINES);
}

void report_stack_json(struct json *j, const struct session *s, uint32_t stack)
{
	struct ndjson_stacks *stacks;
	int err = ndjson_stacks_new(s, &stacks);
	if (!err) {
		json_key(j, "stack");
		err = ndjson_stacks_put(stacks, j, stack);
		ndjson_stacks_free(stacks);
	}
	buf_keep_error(j->out, err);
	json_key_u64(j, "stack_left_out", event_stack_left_out(s, stack));
}

void report_stack_put_block(struct buf *b, const struct session *s, uint32_t stack, uint64_t ns)
{
	if (!stack)
		return;
	report_print(b, "      the longest block, of %s, began\n", report_ns_text((double)ns).text);
	report_stack_put(b, s, stack);
}

void report_stack_json_block(struct json *j, const struct session *s, uint32_t stack, uint64_t ns)
{
	if (!stack) {
		json_key_null(j, "block");
		return;
	}
	json_key_open(j, "block", '{');
	json_key_u64(j, "ns", ns);
	report_stack_json(j, s, stack);
	json_close(j, '}');
}

static bool is_of_library(const struct session *s, const struct frame_position *p,
			  const struct traits_frames *language)
{
	const char *function = p->function ? strings_text(s->strings, p->function) : "";
	return language->library &&
	       !strncmp(function, language->library, strlen(language->library));
}

const struct frame_position *report_stack_innermost(const struct session *s, uint32_t stack)
{
	const struct frame_position *first = NULL, *library = NULL;
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		const struct frame_position *p = f->count ? &f->position[f->count - 1] : NULL;
		if (!p || !p->file)
			continue;
		const struct traits_frames *language = report_stack_language(s, p);
		if (language && !is_of_library(s, p, language))
			return p;
		if (language && !library)
			library = p;
		first = first ? first : p;
	}
	return library ? library : first;
}

void report_stack_put_position(struct buf *b, const struct session *s,
			       const struct frame_position *at)
{
	buf_put_plain(b, strings_text(s->strings, at->file));
	if (at->has_line)
		report_print(b, ":%" PRIu32, at->line);
	if (at->function) {
		buf_puts(b, " (");
		buf_put_plain(b, strings_text(s->strings, at->function));
		buf_puts(b, ")");
	}
}
