/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/memtrace_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "source/file/mem_modules.h"

#define NO_POSITIONS (1ull << 32)

void memtrace_codes_done(struct memtrace_codes *c)
{
	size_t at = 0;
	for (struct map_slot *s; (s = map_next(&c->frames, &at));)
		frames_drop(c->session->frames, (uint32_t)s->value);
	frames_drop(c->session->frames, c->unknown);
	map_done(&c->frames);
	mem_modules_free(c->modules);
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

/* 0: no text, or no memory, which clears *whole. */
static uint32_t put_string(struct session *session, const char *text, bool *whole)
{
	uint32_t id = text ? strings_put(session->strings, text, strlen(text)) : 0;
	*whole &= id || !text;
	return id;
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
	bool whole = true;
	for (size_t i = 0; i < count; i++)
		position[i] = (struct frame_position){
			.function = put_string(session, l[i].function, &whole),
			.file = put_string(session, l[i].file, &whole),
			.line = l[i].line,
			.start_char = l[i].first_char,
			.end_char = l[i].last_char,
			.has_line = true,
			.has_chars = true,
		};
	uint32_t id = whole ? frames_put(session->frames, &f) : 0;
	for (size_t i = 0; i < count; i++) {
		strings_drop(session->strings, position[i].function);
		strings_drop(session->strings, position[i].file);
	}
	return id;
}

/* The frame of an offset in a module, with the positions that its symbols have. 0: no memory. */
static uint32_t put_module_frame(struct memtrace_codes *c, int64_t code,
				 const struct ebt_memtrace_location *l)
{
	struct ebt_memtrace_location *resolved;
	if (!c->modules && mem_modules_new(&c->session->messages, &c->modules))
		return 0;
	size_t count = mem_modules_find(c->modules, l, &resolved);
	uint32_t frame = count ? put_frame(c->session, code, resolved, count) : 0;
	free(resolved);
	return frame;
}

/* One that had no positions may have some by now. */
static uint32_t find_frame(struct memtrace_codes *c, const struct ebt_memtrace_reader *r,
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
	uint32_t frame = count == 1 && mem_modules_named(l) ? put_module_frame(c, code, l)
							    : put_frame(c->session, code, l, count);
	uint64_t *value = frame ? map_put(&c->frames, (uint64_t)code) : NULL;
	if (!value) {
		frames_drop(c->session->frames, frame);
		return 0;
	}
	frames_drop(c->session->frames, (uint32_t)*value);
	*value = frame | (count ? 0 : NO_POSITIONS);
	*ret_final = count;
	return frame;
}

static inline struct memtrace_recent *recent_of(struct memtrace_codes *c, uint32_t parent,
						int64_t code)
{
	/* The parent is known late: little is done with it. */
	uint64_t hash = (uint64_t)code * 0x9e3779b97f4a7c15u >> (64 - MEMTRACE_RECENT_BITS);
	return &c->recent[(hash ^ parent) % (1u << MEMTRACE_RECENT_BITS)];
}

static __attribute__((noinline)) uint32_t push_other(struct memtrace_codes *c,
						     const struct ebt_memtrace_reader *r,
						     uint32_t parent, int64_t code)
{
	bool is_final;
	uint32_t frame = find_frame(c, r, code, &is_final);
	uint32_t stack = frame ? stacks_push(c->session->stacks, parent, frame) : 0;
	if (stack && is_final)
		*recent_of(c, parent, code) = (struct memtrace_recent){code, parent, stack};
	return stack;
}

/* The stack that extends `parent` by the frame of a code; 0: no memory. */
static inline uint32_t push(struct memtrace_codes *c, const struct ebt_memtrace_reader *r,
			    uint32_t parent, int64_t code)
{
	const struct memtrace_recent *recent = recent_of(c, parent, code);
	if (recent->code == code && recent->parent == parent && recent->stack)
		return recent->stack;
	return push_other(c, r, parent, code);
}

static __attribute__((noinline)) void forget_recent(struct memtrace_codes *c)
{
	memset(c->recent, 0, sizeof(c->recent));
	c->reclaimed = c->session->stacks->reclaimed;
}

static __attribute__((noinline)) int grow(struct memtrace_backtrace *b, uint32_t depth)
{
	return array_reserve(b->stack, b->cap, depth - 1) ? 0 : -ENOMEM;
}

static uint64_t at_most(uint64_t v)
{
	return v < MEMTRACE_STACK_FRAMES ? v : MEMTRACE_STACK_FRAMES;
}

static inline uint32_t last_stack(const struct memtrace_backtrace *b)
{
	return b->depth ? b->stack[b->depth - 1] : 0;
}

/* Replaces the frames behind the first `shared`, which there are. 0 or -ENOMEM. */
static inline int replace(struct memtrace_backtrace *b, struct memtrace_codes *codes,
			  const struct ebt_memtrace_reader *r, uint32_t shared, const int64_t *code,
			  uint32_t frames)
{
	struct stacks *stacks = codes->session->stacks;
	uint32_t depth = (uint32_t)at_most((uint64_t)shared + frames), old = last_stack(b);
	if (depth > b->cap && grow(b, depth))
		return -ENOMEM;
	if (codes->reclaimed != stacks->reclaimed)
		forget_recent(codes);
	uint32_t *stack = b->stack, id = shared ? stack[shared - 1] : 0;
	for (uint32_t i = shared; i < depth; i++) {
		stack[i] = id = push(codes, r, id, *code++);
		if (!id)
			return -ENOMEM;
	}
	stacks_hold(stacks, id);
	stacks_drop(stacks, old);
	b->depth = depth;
	return 0;
}

/* Shares frames with a last backtrace that was not read completely: frames that it lacks are
 * unknown, as after damage. *ret: the number of shared frames that are not left out. 0 or
 * -ENOMEM. */
static __attribute__((noinline)) int share_unread(struct memtrace_backtrace *b,
						  struct memtrace_codes *codes,
						  const struct ebt_memtrace_reader *r,
						  uint64_t shared, uint32_t *ret)
{
	static const int64_t unknown = EBT_MEMTRACE_UNKNOWN;
	if (at_most(shared - (shared < b->skipped ? shared : b->skipped)) > b->depth) {
		memtrace_backtrace_forget(b, codes->session);
		b->skipped =
			shared > MEMTRACE_UNKNOWN_FRAMES ? shared - MEMTRACE_UNKNOWN_FRAMES : 0;
	}
	if (b->skipped > shared)
		b->skipped = shared;
	*ret = (uint32_t)at_most(shared - b->skipped);
	while (b->depth < *ret)
		if (replace(b, codes, r, b->depth, &unknown, 1))
			return -ENOMEM;
	return 0;
}

/* Leaves out the outermost frames of a deep backtrace where there were too many. */
static __attribute__((noinline)) int replace_deep(struct memtrace_backtrace *b,
						  struct memtrace_codes *codes,
						  const struct ebt_memtrace_reader *r,
						  uint32_t shared,
						  const struct ebt_memtrace_event *e)
{
	uint32_t left_out = e->frames - MEMTRACE_DEEP_FRAMES;
	uint64_t deep = codes->session->deep_frames + e->frames;
	if (deep <= MEMTRACE_DEEP_ALLOWED) {
		codes->session->deep_frames = deep;
		return replace(b, codes, r, shared, e->frame, e->frames);
	}
	codes->cut++;
	b->skipped = (uint64_t)e->common + left_out;
	return replace(b, codes, r, 0, e->frame + left_out, MEMTRACE_DEEP_FRAMES);
}

int memtrace_backtrace_add(struct memtrace_backtrace *b, struct memtrace_codes *codes,
			   const struct ebt_memtrace_reader *r, const struct ebt_memtrace_event *e,
			   uint32_t *ret)
{
	uint32_t shared = e->common;
	int err = 0;
	if (!e->again && (b->skipped || shared > b->depth))
		err = share_unread(b, codes, r, e->common, &shared);
	if (!e->again && !err && e->frames > MEMTRACE_DEEP_FRAMES)
		err = replace_deep(b, codes, r, shared, e);
	else if (!e->again && !err)
		err = replace(b, codes, r, shared, e->frame, e->frames);
	*ret = err ? 0 : last_stack(b);
	return err;
}
