/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/capture_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* The id of a number that the reader has checked; 0 for number 0. */
static uint32_t id_of(const struct capture_ids *t, uint32_t number)
{
	return number && number <= t->count ? t->id[number - 1] : 0;
}

/* Gives a number to an id. The one it had is returned in *ret_old, 0 if none. 0 or -ENOMEM. */
static int set_id(struct capture_ids *t, uint32_t number, uint32_t id, uint32_t *ret_old)
{
	if (!array_reserve(t->id, t->cap, number - 1))
		return -ENOMEM;
	for (; t->count < number; t->count++)
		t->id[t->count] = 0;
	*ret_old = t->id[number - 1];
	t->id[number - 1] = id;
	return 0;
}

void capture_stacks_done(struct capture_stacks *s)
{
	for (size_t i = 0; i < s->stacks.count; i++)
		stacks_drop(s->session->stacks, s->stacks.id[i]);
	for (size_t i = 0; i < s->frames.count; i++)
		frames_drop(s->session->frames, s->frames.id[i]);
	for (size_t i = 0; i < s->strings.count; i++)
		strings_drop(s->session->strings, s->strings.id[i]);
	free(s->stacks.id);
	free(s->frames.id);
	free(s->strings.id);
	*s = (struct capture_stacks){.session = s->session};
}

static int apply_string(struct capture_stacks *s, const struct capture_string *c)
{
	struct strings *strings = s->session->strings;
	uint32_t id = strings_put(strings, c->text, c->bytes), old;
	int err = id ? set_id(&s->strings, c->number, id, &old) : -ENOMEM;
	strings_drop(strings, err ? id : old);
	return err;
}

static int apply_frame(struct capture_stacks *s, const struct capture_frame *c)
{
	struct frames *frames = s->session->frames;
	struct frame_position position[CAPTURE_POSITIONS_MAX];
	for (uint32_t i = 0; i < c->count; i++) {
		const struct capture_position *p = &c->position[i];
		position[i] = (struct frame_position){
			.function = id_of(&s->strings, p->function),
			.file = id_of(&s->strings, p->file),
			.line = p->has_line ? p->line : 0,
			.start_char = p->has_chars ? p->start_char : 0,
			.end_char = p->has_chars ? p->end_char : 0,
			.has_line = p->has_line,
			.has_chars = p->has_chars,
		};
	}
	struct frame f = {.address = c->has_address ? c->address : 0,
			  .has_address = c->has_address,
			  .count = c->count,
			  .position = position,
			  .module = {.path = id_of(&s->strings, c->path),
				     .build_id = id_of(&s->strings, c->build_id),
				     .offset = c->offset}};
	uint32_t id = frames_put(frames, &f), old;
	int err = id ? set_id(&s->frames, c->number, id, &old) : -ENOMEM;
	frames_drop(frames, err ? id : old);
	return err;
}

static int apply_run(struct capture_stacks *s, const struct capture_stack *c)
{
	struct stacks *stacks = s->session->stacks;
	uint32_t id = id_of(&s->stacks, c->parent), old;
	for (uint32_t i = 0; i < c->count; i++) {
		id = stacks_push(stacks, id, id_of(&s->frames, c->frame[i]));
		int err = id ? set_id(&s->stacks, c->number + i, id, &old) : -ENOMEM;
		if (err)
			return err;
		stacks_hold(stacks, id);
		stacks_drop(stacks, old);
	}
	stacks_reclaim(stacks);
	return 0;
}

int capture_stacks_apply(struct capture_stacks *s, const struct capture_item *item)
{
	switch (item->what) {
	case CAPTURE_STRING:
		return apply_string(s, &item->string);
	case CAPTURE_FRAME:
		return apply_frame(s, &item->frame);
	case CAPTURE_STACK:
		return apply_run(s, &item->stack);
	default:
		return 0;
	}
}

void capture_stacks_resolve(const struct capture_stacks *s, struct ebt_event *ev)
{
	uint32_t id = id_of(&s->stacks, ev->stack);
	ev->stack = 0;
	if (id)
		session_put_stack(s->session, ev, id);
}
