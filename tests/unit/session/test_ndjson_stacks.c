/* SPDX-License-Identifier: BSD-2-Clause */
/* NDJSON keeps the texts of some frames. The others are given back. */
#include "session/ndjson_stacks.h"
#include "tests/tap.h"

#define KEPT 4096 /* texts */

/* A stack, and the text that is written of it. */
static void check(struct session *s, struct ndjson_stacks *k, uint32_t stack, const char *want,
		  const char *name)
{
	struct buf text;
	if (buf_init(&text, -1, BUF_ROOM_MAX))
		abort();
	struct json j = {.out = &text};
	stacks_hold(s->stacks, stack);
	ndjson_stacks_put(k, &j, stack);
	stacks_drop(s->stacks, stack);
	is_str(buf_str(&text), want, name);
	buf_done(&text);
}

static struct frame_position function_of(struct session *s, const char *name)
{
	return (struct frame_position){.function = strings_put(s->strings, name, strlen(name))};
}

/* Of the outermost frame, which is of inlined functions, only some are shown. */
static void test_part_of_frame(void)
{
	struct session *s;
	struct ndjson_stacks *k;
	if (session_new(&s) || ndjson_stacks_new(s, &k))
		abort();
	struct frame_position three[] = {function_of(s, "a"), function_of(s, "b"),
					 function_of(s, "c")},
			      one[] = {function_of(s, "d")};
	uint32_t outer = frames_put(s->frames, &(struct frame){.position = three, .count = 3});
	uint32_t inner = frames_put(s->frames, &(struct frame){.position = one, .count = 1});
	uint32_t short_one = stacks_push(s->stacks, 0, outer);
	uint32_t long_one = stacks_push(s->stacks, short_one, inner);
	s->max_stack = 2;
	check(s, k, long_one, "[\"c\",\"d\"]", "of a long stack the innermost functions are shown");
	s->max_stack = 3;
	check(s, k, short_one, "[\"a\",\"b\",\"c\"]",
	      "a frame that was shown in part is whole in a stack that has room for it");
	check(s, k, long_one, "[\"b\",\"c\",\"d\"]", "and shown in part again in one that has not");
	ndjson_stacks_free(k);
	session_free(s);
}

int main(void)
{
	test_part_of_frame();
	struct session *s;
	struct ndjson_stacks *k;
	struct buf text;
	unsigned wrong = 0;
	if (session_new(&s) || ndjson_stacks_new(s, &k) || buf_init(&text, -1, BUF_ROOM_MAX))
		abort();
	for (uint64_t i = 0; i < 5 * KEPT; i++) {
		struct frame f = {.address = 0x1000 + i, .has_address = true};
		struct json j = {.out = &text};
		uint32_t frame = frames_put(s->frames, &f),
			 stack = stacks_push(s->stacks, 0, frame);
		char want[64];
		text.len = 0;
		stacks_hold(s->stacks, stack);
		wrong += ndjson_stacks_put(k, &j, stack) != 0;
		stacks_drop(s->stacks, stack);
		frames_drop(s->frames, frame);
		int n = snprintf(want, sizeof(want), "[\"$%llu\"]",
				 (unsigned long long)(0x1000 + i));
		wrong += text.len != (size_t)n || memcmp(text.data, want, (size_t)n);
	}
	is(wrong, 0, "stacks of frames without names are arrays of their addresses");
	stacks_free_unheld(s->stacks);
	ok(frames_count(s->frames) <= KEPT + 1, "the frames of the newest are kept alone (%u)",
	   frames_count(s->frames));
	ndjson_stacks_free(k);
	stacks_free_unheld(s->stacks);
	is(frames_count(s->frames), 0, "and none at the end");
	buf_done(&text);
	session_free(s);
	return tap_done();
}
