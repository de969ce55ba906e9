/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/memtrace_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_POSITIONS (1ull << 32)

void memtrace_codes_done(struct memtrace_codes *c)
{
	size_t at = 0;
	for (struct map_slot *s; (s = map_next(&c->frames, &at));)
		frames_drop(c->session->frames, (uint32_t)s->value);
	frames_drop(c->session->frames, c->unknown);
	map_done(&c->frames);
}

void memtrace_backtrace_forget(struct memtrace_backtrace *b, struct session *session)
{
	if (b->depth)
		stacks_drop(session->stacks, b->stack[b->depth - 1]);
	b->depth = 0;
	b->skipped = 0;
}

void memtrace_backtrace_done(struct memtrace_backtrace *b, struct session *session)
{
	memtrace_backtrace_forget(b, session);
	free(b->stack);
}

static uint32_t put_string(struct session *session, const char *text)
{
	return text ? strings_put(session->strings, text, strlen(text)) : 0;
}

/* A held frame; 0: no memory. */
static uint32_t put_frame(struct session *session, int64_t code,
			  const struct ebt_memtrace_location *l, size_t count)
{
	struct frame_position position[FRAME_POSITIONS_MAX];
	struct frame f = {
		.address = (uint64_t)code,
		.has_address = true,
		.count = (uint32_t)count,
		.position = position,
	};
	for (size_t i = 0; i < count; i++)
		position[i] = (struct frame_position){
			.function = put_string(session, l[i].function),
			.file = put_string(session, l[i].file),
			.line = l[i].line,
			.start_char = l[i].first_char,
			.end_char = l[i].last_char,
			.has_line = true,
			.has_chars = true,
		};
	uint32_t id = frames_put(session->frames, &f);
	for (size_t i = 0; i < count; i++) {
		strings_drop(session->strings, position[i].function);
		strings_drop(session->strings, position[i].file);
	}
	return id;
}

/* One that had no positions may have some by now. */
static __attribute__((noinline)) uint32_t find_frame(struct memtrace_codes *c,
						     const struct ebt_memtrace_reader *r,
						     int64_t code, bool *ret_final)
{
	const struct ebt_memtrace_location *l = NULL;
	const struct frame none = {0};
	*ret_final = false;
	if (code == EBT_MEMTRACE_UNKNOWN) {
		if (!c->unknown)
			c->unknown = frames_put(c->session->frames, &none);
		return c->unknown;
	}
	uint64_t *known = map_get(&c->frames, (uint64_t)code);
	*ret_final = known && !(*known & NO_POSITIONS);
	if (*ret_final)
		return (uint32_t)*known;
	size_t count = ebt_memtrace_locations(r, code, &l);
	if (known && !count)
		return (uint32_t)*known;
	uint32_t frame = put_frame(c->session, code, l, count);
	uint64_t *value = frame ? map_put(&c->frames, (uint64_t)code) : NULL;
	if (!value) {
		frames_drop(c->session->frames, frame);
		return 0;
	}
	frames_drop(c->session->frames, (uint32_t)*value);
	*value = frame | (count ? 0 : NO_POSITIONS);
	return frame;
}

/* The frame of a code; 0: no memory. */
static inline uint32_t frame_of(struct memtrace_codes *c, const struct ebt_memtrace_reader *r,
				int64_t code)
{
	uint64_t hash = (uint64_t)code * 0x9e3779b97f4a7c15u;
	struct memtrace_recent *recent = &c->recent[hash >> (64 - MEMTRACE_RECENT_BITS)];
	bool is_final;
	if (recent->code == code && recent->frame)
		return recent->frame;
	uint32_t frame = find_frame(c, r, code, &is_final);
	if (is_final)
		*recent = (struct memtrace_recent){code, frame};
	return frame;
}

static int reserve(struct memtrace_backtrace *b, uint64_t depth)
{
	if (depth <= b->cap)
		return 0;
	uint32_t cap = depth < 64 ? 64 : (uint32_t)depth * 2;
	uint32_t *grown = realloc(b->stack, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	b->stack = grown;
	b->cap = cap;
	return 0;
}

static uint64_t at_most(uint64_t v)
{
	return v < MEMTRACE_STACK_FRAMES ? v : MEMTRACE_STACK_FRAMES;
}

/* Of the frames that a backtrace shares with the last one, those that are not left out: their number
 * in the stack. */
static uint32_t share(struct memtrace_backtrace *b, struct session *session, uint64_t shared)
{
	if (at_most(shared - (shared < b->skipped ? shared : b->skipped)) > b->depth) {
		memtrace_backtrace_forget(b, session);
		b->skipped =
			shared > MEMTRACE_UNKNOWN_FRAMES ? shared - MEMTRACE_UNKNOWN_FRAMES : 0;
	}
	if (b->skipped > shared)
		b->skipped = shared;
	return (uint32_t)at_most(shared - b->skipped);
}

int memtrace_backtrace_add(struct memtrace_backtrace *b, struct memtrace_codes *codes,
			   const struct ebt_memtrace_reader *r, const struct ebt_memtrace_event *e,
			   uint32_t *ret)
{
	struct stacks *stacks = codes->session->stacks;
	if (e->again) {
		*ret = b->depth ? b->stack[b->depth - 1] : 0;
		return 0;
	}
	uint32_t shared = share(b, codes->session, e->common);
	uint32_t depth = (uint32_t)at_most((uint64_t)shared + e->frames);
	if (reserve(b, depth))
		return -ENOMEM;
	uint32_t old = b->depth ? b->stack[b->depth - 1] : 0;
	uint32_t at = shared < b->depth ? shared : b->depth, id = at ? b->stack[at - 1] : 0;
	/* Of a shared part that was not read the frames are unknown. */
	for (; at < depth; at++) {
		int64_t code = at < shared ? EBT_MEMTRACE_UNKNOWN : e->frame[at - shared];
		uint32_t frame = frame_of(codes, r, code);
		id = frame ? stacks_push(stacks, id, frame) : 0;
		if (!id)
			return -ENOMEM;
		b->stack[at] = id;
	}
	*ret = id;
	stacks_hold(stacks, *ret);
	stacks_drop(stacks, old);
	b->depth = depth;
	return 0;
}
