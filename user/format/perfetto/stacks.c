/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/perfetto/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "session/event_stack.h"

/* The fields in use, by message. */
enum {
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_SOURCE_PATHS = 18,
	INTERNED_MAPPINGS = 19,
	INTERNED_STRING_VALUES = 29,
};
enum { IID = 1 }; /* of each */
enum { STRING_TEXT = 2 };
enum { MAPPING_BUILD_ID = 2, MAPPING_PATH = 7 };
enum { FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_PC = 4, FRAME_SOURCE = 5, FRAME_LINE = 6 };
enum { CALLSTACK_FRAME = 2 };

/* A packet has at most PROTO_LENGTH_MAX bytes: of a longer stack the innermost functions are
 * written. */
#define TEXT_BYTES (16u << 20)
/* Outermost in a callstack that is not whole; its text has the number. */
#define LEFT_OUT "(frames left out)"

void perfetto_stacks_init(struct perfetto_stacks *k, const struct session *s, struct packets *p)
{
	k->session = s;
	k->packets = p;
	k->next_iid = 1;
	k->first_iid = p->first_iid;
}

static void forget_all(struct perfetto_stacks *k)
{
	size_t at = 0;
	for (const struct map_slot *s; (s = map_next(&k->stacks, &at));)
		stacks_drop(k->session->stacks, (uint32_t)s->key);
	struct map *maps[] = {&k->functions, &k->sources, &k->mappings, &k->frames, &k->stacks};
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		map_done(maps[i]);
		*maps[i] = (struct map){0};
	}
	k->left_out = k->no_mapping = 0;
}

void perfetto_stacks_done(struct perfetto_stacks *k)
{
	if (k->session)
		forget_all(k);
}

/* A new number; the map has it from now on. */
static uint32_t number_new(struct perfetto_stacks *k, struct map *m, uint64_t key, uint32_t count)
{
	uint64_t *iid = map_put(m, key);
	uint32_t first = k->next_iid;
	k->next_iid += count;
	if (iid)
		*iid = first;
	else
		k->packets->out.err = -ENOMEM;
	return first;
}

static void put_string(struct buf *b, uint32_t field, uint32_t iid, const void *text, size_t len)
{
	size_t string = proto_open(b, field);
	proto_put_u64(b, IID, iid);
	proto_put_bytes(b, STRING_TEXT, text, len);
	proto_close(b, string);
}

static uint32_t string_number(struct perfetto_stacks *k, struct map *m, uint32_t field,
			      uint32_t string)
{
	uint64_t *known = map_get(m, string);
	if (!string || known)
		return string ? (uint32_t)*known : 0;
	const char *text = strings_text(k->session->strings, string);
	uint32_t iid = number_new(k, m, string, 1);
	put_string(&k->packets->one, field, iid, text, strlen(text));
	return iid;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In bytes, as Perfetto has it. */
static uint32_t put_build_id(struct perfetto_stacks *k, uint32_t string)
{
	const char *hex = strings_text(k->session->strings, string);
	char bytes[64];
	size_t n = 0;
	for (; hex && n < sizeof(bytes) && digit(hex[2 * n]) >= 0 && digit(hex[2 * n + 1]) >= 0;
	     n++)
		bytes[n] = (char)(digit(hex[2 * n]) << 4 | digit(hex[2 * n + 1]));
	if (!n)
		return 0;
	put_string(&k->packets->one, INTERNED_BUILD_IDS, k->next_iid, bytes, n);
	return k->next_iid++;
}

/* Of frames in no file that is known: trace_processor drops the callstacks of a frame without a
 * mapping. */
static uint32_t no_mapping(struct perfetto_stacks *k)
{
	struct buf *b = &k->packets->one;
	if (k->no_mapping)
		return k->no_mapping;
	k->no_mapping = k->next_iid++;
	size_t mapping = proto_open(b, INTERNED_MAPPINGS);
	proto_put_u64(b, IID, k->no_mapping);
	proto_close(b, mapping);
	return k->no_mapping;
}

static uint32_t mapping_number(struct perfetto_stacks *k, const struct frame_module *m)
{
	struct buf *b = &k->packets->one;
	uint64_t key = (uint64_t)m->path << 32 | m->build_id, *known = map_get(&k->mappings, key);
	if (!m->path)
		return no_mapping(k);
	if (known)
		return (uint32_t)*known;
	const char *path = strings_text(k->session->strings, m->path);
	uint32_t build_id = put_build_id(k, m->build_id);
	uint32_t iid = number_new(k, &k->mappings, key, 1), first = k->next_iid;
	/* The format has a path as its parts, without the slashes. */
	for (const char *end; *path; path = end) {
		path += strspn(path, "/");
		end = path + strcspn(path, "/");
		if (end > path)
			put_string(b, INTERNED_MAPPING_PATHS, k->next_iid++, path,
				   (size_t)(end - path));
	}
	size_t mapping = proto_open(b, INTERNED_MAPPINGS);
	proto_put_u64(b, IID, iid);
	if (build_id)
		proto_put_u64(b, MAPPING_BUILD_ID, build_id);
	for (uint32_t i = first; i < k->next_iid; i++)
		proto_put_u64(b, MAPPING_PATH, i);
	proto_close(b, mapping);
	return iid;
}

/* A frame of a known mapping that was not resolved has no function: it may be resolved later. */
static uint32_t unresolved_function(struct perfetto_stacks *k, const struct frame *f)
{
	struct buf text;
	if (f->module.path || !buf_init_part(&text, &k->packets->one))
		return 0;
	frames_put_text(k->session->frames, f, 0, &text);
	uint32_t iid = k->next_iid++;
	put_string(&k->packets->one, INTERNED_FUNCTION_NAMES, iid, text.data, text.len);
	buf_done_part(&text, &k->packets->one);
	return iid;
}

/* The number of the first of its positions. */
static uint32_t frame_number(struct perfetto_stacks *k, uint32_t id)
{
	struct buf *b = &k->packets->one;
	const struct frame *f = frames_get(k->session->frames, id);
	uint64_t *known = map_get(&k->frames, id);
	if (known)
		return (uint32_t)*known;
	uint32_t mapping = mapping_number(k, &f->module);
	uint32_t first = number_new(k, &k->frames, id, frames_texts(f));
	for (uint32_t i = 0; i < frames_texts(f); i++) {
		const struct frame_position none = {0}, *p = f->count ? &f->position[i] : &none;
		uint32_t function = f->count ? string_number(k, &k->functions,
							     INTERNED_FUNCTION_NAMES, p->function)
					     : unresolved_function(k, f);
		uint32_t source = string_number(k, &k->sources, INTERNED_SOURCE_PATHS, p->file);
		size_t frame = proto_open(b, INTERNED_FRAMES);
		proto_put_u64(b, IID, first + i);
		if (function)
			proto_put_u64(b, FRAME_FUNCTION, function);
		proto_put_u64(b, FRAME_MAPPING, mapping);
		if (f->module.path)
			proto_put_u64(b, FRAME_PC, f->module.offset);
		if (source)
			proto_put_u64(b, FRAME_SOURCE, source);
		if (p->has_line)
			proto_put_u64(b, FRAME_LINE, p->line);
		proto_close(b, frame);
	}
	return first;
}

/* Returns the number of functions that it has. */
static uint32_t put_text(struct perfetto_stacks *k, uint32_t iid, uint32_t stack)
{
	struct buf text;
	if (!buf_init_part(&text, &k->packets->one))
		return 0;
	uint32_t shown = event_stack_lines(k->session, stack, "", TEXT_BYTES, &text);
	put_string(&k->packets->one, INTERNED_STRING_VALUES, iid, text.data, text.len);
	buf_done_part(&text, &k->packets->one);
	return shown;
}

static uint32_t left_out_number(struct perfetto_stacks *k)
{
	struct buf *b = &k->packets->one;
	if (k->left_out)
		return k->left_out;
	uint32_t function = k->next_iid++, mapping = no_mapping(k);
	k->left_out = k->next_iid++;
	put_string(b, INTERNED_FUNCTION_NAMES, function, LEFT_OUT, strlen(LEFT_OUT));
	size_t frame = proto_open(b, INTERNED_FRAMES);
	proto_put_u64(b, IID, k->left_out);
	proto_put_u64(b, FRAME_FUNCTION, function);
	proto_put_u64(b, FRAME_MAPPING, mapping);
	proto_close(b, frame);
	return k->left_out;
}

/* Writes what is new of the innermost functions of a stack. Lists their numbers, the innermost
 * first. */
static void list_functions(struct perfetto_stacks *k, uint32_t stack, uint32_t shown, uint32_t *ret)
{
	struct event_stack_walk w;
	event_stack_begin(&w, k->session, stack);
	w.left = shown;
	while (event_stack_next(&w)) {
		uint32_t first = frame_number(k, w.id);
		for (uint32_t i = frames_texts(w.frame); i-- > w.first;)
			*ret++ = first + i;
	}
}

static uint32_t stack_new(struct perfetto_stacks *k, uint32_t stack)
{
	struct buf *b = &k->packets->one;
	packets_begin_interned(k->packets);
	uint32_t iid = number_new(k, &k->stacks, stack, 1);
	uint32_t shown = put_text(k, iid, stack);
	bool is_whole = shown == stacks_texts(k->session->stacks, stack);
	uint32_t *function = calloc(shown + 1, sizeof(*function)), left_out = 0;
	if (function) {
		list_functions(k, stack, shown, function);
		left_out = is_whole ? 0 : left_out_number(k);
	} else {
		buf_keep_error(b, -ENOMEM);
	}
	size_t callstack = proto_open(b, INTERNED_CALLSTACKS);
	proto_put_u64(b, IID, iid);
	if (left_out)
		proto_put_u64(b, CALLSTACK_FRAME, left_out);
	for (uint32_t i = function ? shown : 0; i-- > 0;)
		proto_put_u64(b, CALLSTACK_FRAME, function[i]);
	proto_close(b, callstack);
	packets_end_interned(k->packets);
	free(function);
	return iid;
}

uint32_t perfetto_stacks_number(struct perfetto_stacks *k, uint32_t stack)
{
	if (k->stacks.count >= PERFETTO_STACKS || k->first_iid != k->packets->first_iid)
		forget_all(k);
	k->first_iid = k->packets->first_iid;
	const uint64_t *known = map_get(&k->stacks, stack);
	if (known)
		return (uint32_t)*known;
	uint32_t iid = stack_new(k, stack);
	if (map_get(&k->stacks, stack))
		stacks_hold(k->session->stacks, stack);
	return iid;
}
