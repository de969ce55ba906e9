/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/ndjson_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"

#define FRAMES 4096 /* kept */

/* The strings of a frame, with commas between them. */
struct frame_text {
	uint32_t frame; /* held; 0: none */
	uint32_t len;
	char *text;
};

struct ndjson_stacks {
	const struct session *session;
	struct frame_text frames[FRAMES]; /* by id modulo FRAMES */
	/* The last stack: its frames, and where the text of each ends. Held. */
	uint32_t stack;
	uint32_t *frame;
	size_t *end;
	size_t depth, cap;
	struct map modules; /* path << 32 | build id of those returned; both are held */
	struct buf text;
	uint32_t *next; /* the frames of the stack at hand; cap of them */
};

int ndjson_stacks_new(const struct session *s, struct ndjson_stacks **ret)
{
	struct ndjson_stacks *k = calloc(1, sizeof(*k));
	if (!k || buf_init(&k->text, -1, BUF_ROOM_MAX)) {
		free(k);
		return -ENOMEM;
	}
	k->session = s;
	*ret = k;
	return 0;
}

void ndjson_stacks_free(struct ndjson_stacks *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < FRAMES; i++) {
		frames_drop(k->session->frames, k->frames[i].frame);
		free(k->frames[i].text);
	}
	size_t at = 0;
	for (const struct map_slot *s; (s = map_next(&k->modules, &at));) {
		strings_drop(k->session->strings, (uint32_t)(s->key >> 32));
		strings_drop(k->session->strings, (uint32_t)s->key);
	}
	map_done(&k->modules);
	stacks_drop(k->session->stacks, k->stack);
	buf_done(&k->text);
	free(k->frame);
	free(k->end);
	free(k->next);
	free(k);
}

static int reserve(struct ndjson_stacks *k, size_t depth)
{
	if (depth <= k->cap)
		return 0;
	size_t cap = 2 * depth;
	uint32_t *frame = realloc(k->frame, cap * sizeof(*frame));
	k->frame = frame ? frame : k->frame;
	uint32_t *next = realloc(k->next, cap * sizeof(*next));
	k->next = next ? next : k->next;
	size_t *end = realloc(k->end, cap * sizeof(*end));
	k->end = end ? end : k->end;
	if (!frame || !next || !end)
		return -ENOMEM;
	k->cap = cap;
	return 0;
}

/* Makes the strings of a frame. */
static int make_text(const struct ndjson_stacks *k, uint32_t id, struct frame_text *t)
{
	const struct frame *f = frames_get(k->session->frames, id);
	struct buf strings, one;
	if (buf_init(&strings, -1, BUF_ROOM_MAX))
		return -ENOMEM;
	if (buf_init(&one, -1, BUF_ROOM_MAX)) {
		buf_done(&strings);
		return -ENOMEM;
	}
	struct json j = {.out = &strings};
	for (uint32_t i = 0; i < frames_texts(f); i++) {
		one.len = 0;
		frames_put_text(k->session->frames, f, i, &one);
		json_string(&j, one.data, one.len);
	}
	char *text = strings.err || one.err ? NULL : malloc(strings.len + 1);
	if (text) {
		memcpy(text, strings.data, strings.len);
		frames_drop(k->session->frames, t->frame);
		free(t->text);
		frames_hold(k->session->frames, id);
		*t = (struct frame_text){.frame = id, .len = (uint32_t)strings.len, .text = text};
	}
	buf_done(&strings);
	buf_done(&one);
	return text ? 0 : -ENOMEM;
}

/* Replaces the text of the last stack from the first frame on that is another. */
static int make_stack(struct ndjson_stacks *k, uint32_t stack)
{
	const struct stacks *stacks = k->session->stacks;
	size_t depth = stacks_frames(stacks, stack, NULL, 0), at = 0;
	if (reserve(k, depth))
		return -ENOMEM;
	stacks_frames(stacks, stack, k->next, depth);
	while (at < depth && at < k->depth && k->frame[at] == k->next[at])
		at++;
	k->depth = at;
	k->text.len = at ? k->end[at - 1] : 0;
	for (; at < depth; at++) {
		struct frame_text *t = &k->frames[k->next[at] % FRAMES];
		if (t->frame != k->next[at] && make_text(k, k->next[at], t))
			return -ENOMEM;
		buf_put(&k->text, ",", at != 0);
		buf_put(&k->text, t->text, t->len);
		k->end[at] = k->text.len;
		k->frame[at] = k->next[at];
	}
	if (k->text.err)
		return k->text.err;
	k->depth = depth;
	stacks_hold(k->session->stacks, stack);
	stacks_drop(k->session->stacks, k->stack);
	k->stack = stack;
	return 0;
}

const struct frame_module *ndjson_stacks_module(struct ndjson_stacks *k, uint32_t stack)
{
	const struct session *s = k->session;
	/* Of the last stack all are. */
	for (; stack && stack != k->stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame_module *m =
			&frames_get(s->frames, stacks_frame(s->stacks, stack))->module;
		uint64_t key = (uint64_t)m->path << 32 | m->build_id;
		if (!m->path || map_get(&k->modules, key))
			continue;
		uint64_t *known = map_put(&k->modules, key);
		if (!known)
			return NULL;
		*known = 1;
		strings_hold(s->strings, m->path);
		strings_hold(s->strings, m->build_id);
		return m;
	}
	return NULL;
}

int ndjson_stacks_put(struct ndjson_stacks *k, struct json *j, uint32_t stack)
{
	int err = stack == k->stack ? 0 : make_stack(k, stack);
	json_open(j, '[');
	if (!err)
		buf_put(j->out, k->text.data, k->text.len);
	json_close(j, ']');
	return err;
}
