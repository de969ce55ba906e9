/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/frames.h"

#include "base/hash.h"
#include "session/intern.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_BYTES sizeof("?@:4294967295:4294967295-4294967295")

struct entry {
	struct intern_counted head;
	uint32_t bytes;	    /* frames_bytes() */
	struct frame frame; /* its positions are our own copy */
};

struct frames {
	struct intern table;
	struct strings *strings;
};

int frames_new(struct strings *strings, struct frames **ret)
{
	struct frames *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->strings = strings;
	int err = intern_init(&t->table, sizeof(struct entry));
	if (err) {
		free(t);
		return err;
	}
	*ret = t;
	return 0;
}

static struct entry *entry_at(const struct frames *t, uint32_t id)
{
	return (struct entry *)t->table.entries + id;
}

/* The strings may be gone already. */
void frames_free(struct frames *t)
{
	if (!t)
		return;
	for (uint32_t id = 1; id < t->table.used; id++)
		if (entry_at(t, id)->head.refs)
			free((void *)entry_at(t, id)->frame.position);
	intern_done(&t->table);
	free(t);
}

static bool is_same_position(const struct frame_position *a, const struct frame_position *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->start_char == b->start_char && a->end_char == b->end_char &&
	       a->has_line == b->has_line && a->has_chars == b->has_chars;
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	if (a->address != b->address || a->has_address != b->has_address || a->count != b->count ||
	    a->module.path != b->module.path || a->module.build_id != b->module.build_id ||
	    a->module.offset != b->module.offset)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!is_same_position(&a->position[i], &b->position[i]))
			return false;
	return true;
}

static uint32_t hash_of(const struct frame *f)
{
	uint64_t h = hash_u64(hash_u64(hash_start(), f->address), f->count);
	h = hash_u64(h, (uint64_t)f->module.path << 32 | f->module.build_id);
	h = hash_u64(h, f->module.offset);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct frame_position *p = &f->position[i];
		h = hash_u64(h, (uint64_t)p->function << 32 | p->file);
		h = hash_u64(h, (uint64_t)p->line << 32 | p->start_char << 16 | p->end_char);
	}
	return (uint32_t)h;
}

static uint32_t find(const struct frames *t, uint32_t hash, const struct frame *frame)
{
	uint32_t at = intern_first(&t->table, hash), id;
	while ((id = intern_next(&t->table, hash, &at)))
		if (is_same(&entry_at(t, id)->frame, frame))
			return id;
	return 0;
}

static size_t string_bytes(const struct frames *t, uint32_t id)
{
	return id ? strlen(strings_text(t->strings, id)) : 0;
}

size_t frames_text_bytes(const struct frames *t, const struct frame *frame, uint32_t i)
{
	const struct frame_position *p = frame->count ? &frame->position[i] : NULL;
	return p ? string_bytes(t, p->function) + string_bytes(t, p->file) + NUMBERS_BYTES
		 : FRAMES_BARE_BYTES;
}

static uint32_t sum_bytes(const struct frames *t, const struct frame *frame)
{
	size_t sum = 0;
	for (uint32_t i = 0; i < frames_texts(frame); i++)
		sum += frames_text_bytes(t, frame, i);
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

uint32_t frames_put(struct frames *t, const struct frame *frame)
{
	uint32_t hash = hash_of(frame), id = find(t, hash, frame);
	if (id) {
		intern_hold(&t->table, id);
		return id;
	}
	size_t bytes = frame->count * sizeof(*frame->position);
	struct frame_position *copy = bytes ? malloc(bytes) : NULL;
	if (bytes && !copy)
		return 0;
	if (bytes)
		memcpy(copy, frame->position, bytes);
	struct entry e = {.frame = *frame, .head = {.hash = hash, .refs = 1}};
	e.bytes = sum_bytes(t, frame);
	e.frame.position = copy;
	id = intern_add(&t->table, hash, &e);
	if (!id) {
		free(copy);
		return 0;
	}
	for (uint32_t i = 0; i < frame->count; i++) {
		strings_hold(t->strings, copy[i].function);
		strings_hold(t->strings, copy[i].file);
	}
	strings_hold(t->strings, frame->module.path);
	strings_hold(t->strings, frame->module.build_id);
	return id;
}

void frames_hold(struct frames *t, uint32_t id)
{
	intern_hold(&t->table, id);
}

void frames_drop(struct frames *t, uint32_t id)
{
	if (!intern_drop(&t->table, id))
		return;
	const struct frame *f = &entry_at(t, id)->frame;
	for (uint32_t i = 0; i < f->count; i++) {
		strings_drop(t->strings, f->position[i].function);
		strings_drop(t->strings, f->position[i].file);
	}
	strings_drop(t->strings, f->module.path);
	strings_drop(t->strings, f->module.build_id);
	free((void *)f->position);
	intern_remove_counted(&t->table, id);
}

const struct frame *frames_get(const struct frames *t, uint32_t id)
{
	return &entry_at(t, id)->frame;
}

uint32_t frames_bytes(const struct frames *t, uint32_t id)
{
	return entry_at(t, id)->bytes;
}

uint32_t frames_count(const struct frames *t)
{
	return t->table.live;
}

const char *frames_bare_text(const struct frame *frame, char scratch[FRAMES_BARE_BYTES])
{
	if (!frame->has_address)
		return "?";
	snprintf(scratch, FRAMES_BARE_BYTES, "$%" PRIu64, frame->address);
	return scratch;
}

void frames_put_text(const struct frames *t, const struct frame *frame, uint32_t i, struct buf *out)
{
	if (!frame->count) {
		char scratch[FRAMES_BARE_BYTES];
		buf_puts(out, frames_bare_text(frame, scratch));
		return;
	}
	const struct frame_position *p = &frame->position[i];
	buf_puts(out, p->function ? strings_text(t->strings, p->function) : "?");
	if (!p->file)
		return;
	buf_puts(out, "@");
	buf_puts(out, strings_text(t->strings, p->file));
	if (!p->has_line)
		return;
	buf_puts(out, ":");
	buf_put_u64(out, p->line);
	if (!p->has_chars)
		return;
	buf_puts(out, ":");
	buf_put_u64(out, p->start_char);
	buf_puts(out, "-");
	buf_put_u64(out, p->end_char);
}
