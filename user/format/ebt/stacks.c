/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Limits of a stack that is cut. */
#define CUT_FRAMES 4096
#define CUT_BYTES  (256u << 10)
#define LEFT_OUT   "(frames left out)"

/* The number of an id in the block with the ordinal `block`. */
struct number {
	uint64_t block;
	uint32_t number;
};

/* Numbers of the ids of one kind; ids are dense. */
struct numbers {
	struct number *of;
	size_t cap;
};

struct ebt_stacks {
	const struct session *session;
	struct capture_writer *writer;
	uint64_t block; /* from 1 */
	struct numbers strings, frames, stacks;
	uint32_t *held; /* stacks, until the block is closed */
	size_t held_count, held_cap;
	uint32_t *path; /* from a stack to the first that the block has */
	size_t path_cap;
	size_t bytes;		 /* of the block that stacks occupy */
	uint32_t left_out_frame; /* held; 0: not made */
	struct number left_out;	 /* the stack of it */
};

int ebt_stacks_new(const struct session *session, struct capture_writer *writer,
		   struct ebt_stacks **ret)
{
	struct ebt_stacks *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->session = session;
	s->writer = writer;
	s->block = 1;
	*ret = s;
	return 0;
}

void ebt_stacks_closed(struct ebt_stacks *s, struct capture_writer *writer)
{
	s->writer = writer;
	for (size_t i = 0; i < s->held_count; i++)
		stacks_drop(s->session->stacks, s->held[i]);
	s->held_count = 0;
	s->bytes = 0;
	s->block++;
}

void ebt_stacks_free(struct ebt_stacks *s)
{
	if (!s)
		return;
	ebt_stacks_closed(s, NULL);
	frames_drop(s->session->frames, s->left_out_frame);
	free(s->strings.of);
	free(s->frames.of);
	free(s->stacks.of);
	free(s->held);
	free(s->path);
	free(s);
}

static struct number *number_of(struct numbers *n, uint32_t id)
{
	return array_room(n->of, n->cap, id) ? &n->of[id] : NULL;
}

/* The number that an id has in the block already, 0 if none. */
static uint32_t written_as(const struct ebt_stacks *s, const struct numbers *n, uint32_t id)
{
	return id < n->cap && n->of[id].block == s->block ? n->of[id].number : 0;
}

/* Notes that the item that was put last is this id. */
static int note(struct ebt_stacks *s, struct numbers *n, uint32_t id, enum capture_what what)
{
	struct number *as = number_of(n, id);
	if (!as)
		return -ENOMEM;
	*as = (struct number){s->block, capture_last_number(s->writer, what)};
	return 0;
}

static int refer_string(struct ebt_stacks *s, uint32_t id, uint32_t *ret_number)
{
	*ret_number = written_as(s, &s->strings, id);
	if (!id || *ret_number)
		return 0;
	const char *text = strings_text(s->session->strings, id);
	struct capture_item item = {.what = CAPTURE_STRING,
				    .string = {.text = text, .bytes = strlen(text)}};
	int err = capture_put_item(s->writer, &item);
	if (!err)
		err = note(s, &s->strings, id, CAPTURE_STRING);
	*ret_number = written_as(s, &s->strings, id);
	return err;
}

static int refer_frame(struct ebt_stacks *s, uint32_t id, uint32_t *ret_number)
{
	*ret_number = written_as(s, &s->frames, id);
	if (*ret_number)
		return 0;
	const struct frame *f = frames_get(s->session->frames, id);
	struct capture_position position[CAPTURE_POSITIONS_MAX];
	struct capture_item item = {.what = CAPTURE_FRAME,
				    .frame = {.address = f->address,
					      .has_address = f->has_address,
					      .count = f->count,
					      .position = position,
					      .offset = f->module.offset}};
	int err = 0;
	for (uint32_t i = 0; i < f->count && !err; i++) {
		const struct frame_position *p = &f->position[i];
		struct capture_position *to = &position[i];
		*to = (struct capture_position){.line = p->line,
						.start_char = p->start_char,
						.end_char = p->end_char,
						.has_line = p->has_line,
						.has_chars = p->has_chars};
		err = refer_string(s, p->function, &to->function);
		if (!err)
			err = refer_string(s, p->file, &to->file);
	}
	if (!err)
		err = refer_string(s, f->module.path, &item.frame.path);
	if (!err)
		err = refer_string(s, f->module.build_id, &item.frame.build_id);
	if (!err)
		err = capture_put_item(s->writer, &item);
	if (!err)
		err = note(s, &s->frames, id, CAPTURE_FRAME);
	*ret_number = written_as(s, &s->frames, id);
	return err;
}

/* The ids from `stack` outwards that the block does not have. Their number or -ENOMEM. */
static ssize_t missing_path(struct ebt_stacks *s, uint32_t stack)
{
	size_t n = 0;
	for (; stack && !written_as(s, &s->stacks, stack); n++) {
		if (!array_reserve(s->path, s->path_cap, n))
			return -ENOMEM;
		s->path[n] = stack;
		stack = stacks_parent(s->session->stacks, stack);
	}
	return (ssize_t)n;
}

/* The block's numbers of its stacks stay true as long as none of them is freed. */
static int hold(struct ebt_stacks *s, uint32_t stack)
{
	if (!array_reserve(s->held, s->held_cap, s->held_count))
		return -ENOMEM;
	s->held[s->held_count++] = stack;
	stacks_hold(s->session->stacks, stack);
	return 0;
}

/* Leaves room for stacks that are cut. */
static bool takes_run(const struct ebt_stacks *s)
{
	uint32_t stacks = capture_last_number(s->writer, CAPTURE_STACK);
	return capture_takes_run(s->writer) && stacks <= CAPTURE_STACKS - 2 * CAPTURE_RUN_MAX;
}

/* Writes stacks that extend each other. 0 or -ENOMEM. */
static int put_item(struct ebt_stacks *s, uint32_t parent, const uint32_t *frame, uint32_t count)
{
	struct capture_item item = {.what = CAPTURE_STACK,
				    .stack = {.parent = parent, .count = count, .frame = frame}};
	return capture_put_item(s->writer, &item);
}

/* Writes as many as fit an item of path[0..n), the last first. Their number or -ENOMEM. */
static ssize_t put_run(struct ebt_stacks *s, size_t n)
{
	const struct stacks *stacks = s->session->stacks;
	uint32_t frame[CAPTURE_RUN_MAX], count = 0;
	int err = 0;
	for (; count < n && count < CAPTURE_RUN_MAX && takes_run(s); count++) {
		err = refer_frame(s, stacks_frame(stacks, s->path[n - 1 - count]), &frame[count]);
		if (err)
			return err;
	}
	if (!count)
		return 0;
	uint32_t parent = stacks_parent(stacks, s->path[n - 1]);
	uint32_t first = capture_last_number(s->writer, CAPTURE_STACK) + 1;
	err = put_item(s, written_as(s, &s->stacks, parent), frame, count);
	for (uint32_t i = 0; i < count && !err; i++) {
		struct number *as = number_of(&s->stacks, s->path[n - 1 - i]);
		if (!as)
			return -ENOMEM;
		*as = (struct number){s->block, first + i};
	}
	return err ? err : (ssize_t)count;
}

/* The block's stack of a single frame that represents those left out. */
static int refer_left_out(struct ebt_stacks *s, uint32_t *ret_number)
{
	uint32_t frame;
	if (s->left_out.block == s->block) {
		*ret_number = s->left_out.number;
		return 0;
	}
	if (!s->left_out_frame) {
		uint32_t name = strings_put(s->session->strings, LEFT_OUT, strlen(LEFT_OUT));
		struct frame_position p = {.function = name};
		struct frame f = {.count = 1, .position = &p};
		s->left_out_frame = name ? frames_put(s->session->frames, &f) : 0;
		strings_drop(s->session->strings, name);
	}
	int err = s->left_out_frame ? refer_frame(s, s->left_out_frame, &frame) : -ENOMEM;
	if (!err)
		err = put_item(s, 0, &frame, 1);
	*ret_number = capture_last_number(s->writer, CAPTURE_STACK);
	if (!err)
		s->left_out = (struct number){s->block, *ret_number};
	return err;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Writes path[0..n), which the block does not have yet, cut: the innermost frames that there is
 * room for, at most CUT_FRAMES, and one frame for the outer ones. */
static int put_cut(struct ebt_stacks *s, size_t n)
{
	uint32_t frame[CUT_FRAMES], count = 0, parent;
	size_t before = capture_open_bytes(s->writer);
	int err = refer_left_out(s, &parent);
	uint32_t room = CAPTURE_STACKS - capture_last_number(s->writer, CAPTURE_STACK);
	uint32_t most = least(room, n < CUT_FRAMES ? (uint32_t)n : CUT_FRAMES);
	for (; !err && count < most && capture_takes_run(s->writer) &&
	       capture_open_bytes(s->writer) - before < CUT_BYTES;
	     count++)
		err = refer_frame(s, stacks_frame(s->session->stacks, s->path[count]),
				  &frame[CUT_FRAMES - 1 - count]);
	for (uint32_t at = CUT_FRAMES - count, run; !err && at < CUT_FRAMES; at += run) {
		run = least(CUT_FRAMES - at, CAPTURE_RUN_MAX);
		err = put_item(s, parent, &frame[at], run);
		parent = capture_last_number(s->writer, CAPTURE_STACK);
	}
	struct number *as = err ? NULL : number_of(&s->stacks, s->path[0]);
	if (as)
		*as = (struct number){s->block, parent};
	return err ? err : as ? 0 : -ENOMEM;
}

static int put_new(struct ebt_stacks *s, uint32_t stack, bool cut)
{
	ssize_t left = missing_path(s, stack), put = 0;
	int err = left > 0 ? hold(s, stack) : (int)left;
	if (err)
		return err;
	if (cut)
		return put_cut(s, (size_t)left);
	for (; left > 0; left -= put) {
		put = put_run(s, (size_t)left);
		if (put <= 0)
			return put ? (int)put : -ENOSPC;
	}
	return 0;
}

int ebt_stacks_refer(struct ebt_stacks *s, uint32_t stack, bool cut, uint32_t *ret_number)
{
	*ret_number = written_as(s, &s->stacks, stack);
	if (!stack || *ret_number)
		return 0;
	size_t before = capture_open_bytes(s->writer);
	int err = put_new(s, stack, cut);
	s->bytes += capture_open_bytes(s->writer) - before;
	*ret_number = written_as(s, &s->stacks, stack);
	return err;
}

size_t ebt_stacks_bytes(const struct ebt_stacks *s)
{
	return s->bytes;
}
