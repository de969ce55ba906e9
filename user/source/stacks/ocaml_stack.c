// SPDX-License-Identifier: BSD-2-Clause
#include "source/stacks/ocaml_stack.h"

#include <errno.h>
#include <string.h>

#include "runtime/ocaml/frames.h"

#define NO_ALLOCATION (-1)

/* One frame, as it is looked up. */
struct lookup {
	struct ocaml_position position[OCAML_POSITIONS_MAX];
	struct ocaml_stack *stack;
	uint64_t descriptor;
	int allocation;
};

static struct ocaml_memory memory_of(const struct ocaml_stack *s, struct code_memory *memory)
{
	return (struct ocaml_memory){
		.read = code_memory_read, .ctx = memory, .version = s->version};
}

static unsigned find_positions(void *ctx, struct code_memory *memory, struct code_position *ret)
{
	struct lookup *l = ctx;
	struct ocaml_memory m = memory_of(l->stack, memory);
	unsigned n = ocaml_frames_positions(&m, l->descriptor, l->allocation, l->position);
	for (unsigned i = 0; i < n; i++) {
		const struct ocaml_position *p = &l->position[i];
		ret[i] = (struct code_position){
			.function = p->function,
			.file = p->file,
			.line = p->line,
			.start_char = p->start_char,
			.end_char = p->end_char,
			.has_chars = p->line != 0,
		};
	}
	return n;
}

/* Which of the allocations that native code makes at once is the sampled one. */
static int find_allocation(struct code_frames *c, struct code_map *map, pid_t pid,
			   struct ocaml_stack *s)
{
	struct code_memory memory;
	if (!s->is_combined || !code_frames_memory(c, map, pid, s->frame[0].address, &memory))
		return NO_ALLOCATION;
	struct ocaml_memory m = memory_of(s, &memory);
	return ocaml_frames_allocation(&m, s->frame[0].descriptor, s->free_words, &s->words);
}

static uint32_t frame_at(struct code_frames *c, struct code_map *map, pid_t pid,
			 struct ocaml_stack *s, size_t i)
{
	struct lookup l = {
		.stack = s,
		.descriptor = s->frame[i].descriptor,
		.allocation = i ? NO_ALLOCATION : find_allocation(c, map, pid, s),
	};
	struct code_lookup by = {
		.variant = l.allocation < 0 ? 0 : (uint16_t)(l.allocation + 1),
		.find = find_positions,
		.ctx = &l,
	};
	return code_frames_return(c, map, pid, s->frame[i].address, &by);
}

/* Functions that the compiler makes for partial applications and for the program's start have no
 * positions; the runtime itself does not show them. */
static bool is_glue(const struct session *s, uint32_t id)
{
	static const char glue[] = "caml_";
	const struct frame *f = id ? frames_get(s->frames, id) : NULL;
	const struct frame_position *p = f && f->count == 1 ? f->position : NULL;
	const char *name = p && !p->file ? strings_text(s->strings, p->function) : NULL;
	return name && !strncmp(name, glue, sizeof(glue) - 1);
}

/* Extends a stack by a frame, which is dropped. 0: no memory. */
static uint32_t extend(struct session *s, uint32_t stack, uint32_t frame)
{
	uint32_t more = frame ? stacks_push(s->stacks, stack, frame) : 0;
	frames_drop(s->frames, frame);
	return more;
}

/* Extends a stack by the C that has `frames` frames of OCaml inside, of the first *left. 0 or
 * -ENOMEM. */
static int extend_c(struct code_frames *c, struct code_map *map, pid_t pid,
		    const struct ocaml_stack *s, size_t frames, size_t *left, uint32_t *stack)
{
	int err = 0;
	for (; *left && s->c[*left - 1].frames >= frames && !err; --*left) {
		struct code_stack part = s->c[*left - 1].code;
		part.outer = *stack;
		err = code_frames_stack(c, map, pid, &part, stack);
	}
	return err;
}

int ocaml_stack_push(struct code_frames *c, struct code_map *map, pid_t pid, struct ocaml_stack *s,
		     uint32_t *ret)
{
	struct session *session = code_frames_session(c);
	uint32_t stack = 0;
	size_t left = s->c_count;
	if (s->outer) {
		stack = extend(session, 0, code_frames_named(c, s->outer));
		if (!stack)
			return -ENOMEM;
	}
	for (size_t i = s->frames; i-- > 0;) {
		int err = extend_c(c, map, pid, s, i + 1, &left, &stack);
		if (err)
			return err;
		uint32_t frame = frame_at(c, map, pid, s, i);
		if (is_glue(session, frame) && (i || stack)) {
			frames_drop(session->frames, frame);
			continue;
		}
		stack = extend(session, stack, frame);
		if (!stack)
			return -ENOMEM;
	}
	int err = extend_c(c, map, pid, s, 0, &left, &stack);
	*ret = stack;
	return err;
}
