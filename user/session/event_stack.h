/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of an event as formats have it that write it beside each event: the innermost
 * functions, as many as the session's max_stack allows, and of at most EVENT_STACK_BYTES unless it
 * is 0; the number of the others is written with them. A function that was inlined counts as one.
 * Stacks of sampled allocations are not among them: `ebtrace mem` reports these.
 */
#ifndef SESSION_EVENT_STACK_H
#define SESSION_EVENT_STACK_H

#include "base/json.h"
#include "session/session.h"

static inline bool event_stack_is_shown(const struct ebt_event *ev)
{
	return ev->stack && ev->kind != EBT_ALLOC;
}

/* Of text: 1,024 functions have 60 to 100 each in real programs, and 2,000 where names are
 * forged. */
#define EVENT_STACK_BYTES (128u << 10)

/* The number of functions that are left out, of a stack that may exceed EVENT_STACK_BYTES;
 * private. */
uint32_t event_stack_left_out_long(const struct session *s, uint32_t stack);

/* The functions of a stack that are left out. */
static inline uint32_t event_stack_left_out(const struct session *s, uint32_t stack)
{
	uint32_t texts = stacks_texts(s->stacks, stack);
	if (s->max_stack && stacks_bytes(s->stacks, stack) > EVENT_STACK_BYTES)
		return event_stack_left_out_long(s, stack);
	return s->max_stack && texts > s->max_stack ? texts - s->max_stack : 0;
}

/* Walks the shown part of a stack, the innermost frame first. */
struct event_stack_walk {
	const struct session *session;
	uint32_t stack, left; /* what follows: a stack, and how many functions of it are shown */
	/* The current frame; its positions from `first` on are shown. */
	uint32_t id, first;
	const struct frame *frame;
};

static inline void event_stack_begin(struct event_stack_walk *w, const struct session *s,
				     uint32_t stack)
{
	*w = (struct event_stack_walk){.session = s, .stack = stack};
	w->left = stacks_texts(s->stacks, stack) - event_stack_left_out(s, stack);
}

/* False: there is no frame any more. */
static inline bool event_stack_next(struct event_stack_walk *w)
{
	if (!w->stack || !w->left)
		return false;
	w->id = stacks_frame(w->session->stacks, w->stack);
	w->frame = frames_get(w->session->frames, w->id);
	uint32_t texts = frames_texts(w->frame);
	w->first = texts > w->left ? texts - w->left : 0;
	w->left -= texts - w->first;
	w->stack = stacks_parent(w->session->stacks, w->stack);
	return true;
}

/* Appends a line for each function, which is safe for a terminal, but for those beyond `max_bytes`,
 * then one with the number of those that are left out, if any are. Returns the number of functions.
 */
uint32_t event_stack_lines(const struct session *s, uint32_t stack, const char *indent,
			   size_t max_bytes, struct buf *out);
/* Writes a key and an array of strings, and a key with the number of those that are left out, if
 * any are. */
void event_stack_json(const struct session *s, uint32_t stack, struct json *j);
/* Writes that key. */
void event_stack_json_left_out(const struct session *s, uint32_t stack, struct json *j);

#endif
