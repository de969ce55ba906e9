/* SPDX-License-Identifier: BSD-2-Clause */
/* NDJSON keeps the texts of some frames. The others are given back. */
#include "session/ndjson_stacks.h"
#include "tests/tap.h"

#define KEPT 4096 /* texts */

int main(void)
{
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
