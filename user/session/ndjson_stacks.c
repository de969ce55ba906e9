/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/ndjson_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/map.h"
#include "session/event_stack.h"

#define FRAMES 4096 /* kept */
/* A longer text of a frame, of many inlined functions, is made anew each time. */
#define KEPT_BYTES 4096

/* The strings of a frame, with commas between them. */
struct frame_text {
	uint32_t frame; /* held; 0: none */
	uint32_t len;
	char *text;
};

struct ndjson_stacks {
	const struct session *session;
	struct frame_text frames[FRAMES]; /* by id modulo FRAMES */
	/* The last stack, held: its shown frames, and where the text of each ends. The number 0 is
	 * of a frame that is shown in part: only its innermost functions. */
	uint32_t stack;
	uint32_t *frame;
	size_t *end;
	size_t depth, cap;
	struct map modules; /* path << 32 | build id of those returned; both are held */
	struct buf text;
	uint32_t *next; /* the shown frames of the stack at hand; cap of them */
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
	size_t frames = k->cap, next = k->cap, ends = k->cap;
	if (!array_reserve(k->frame, frames, depth - 1) ||
	    !array_reserve(k->next, next, depth - 1) || !array_reserve(k->end, ends, depth - 1))
		return -ENOMEM;
	k->cap = frames;
	return 0;
}

/* Keeps the last `len` bytes of the text as that of a frame. Without memory they are not kept. */
static void keep_text(const struct ndjson_stacks *k, uint32_t id, struct frame_text *t, size_t len)
{
	char *text = malloc(len + 1);
	if (!text)
		return;
	memcpy(text, k->text.data + k->text.len - len, len);
	frames_drop(k->session->frames, t->frame);
	free(t->text);
	frames_hold(k->session->frames, id);
	*t = (struct frame_text){.frame = id, .len = (uint32_t)len, .text = text};
}

/* Appends the strings of a frame from position `first` on. */
static int put_frame(struct ndjson_stacks *k, uint32_t id, uint32_t first)
{
	const struct frame *f = frames_get(k->session->frames, id);
	struct frame_text *t = &k->frames[id % FRAMES];
	struct buf one;
	if (t->frame == id && !first) {
		buf_put(&k->text, t->text, t->len);
		return k->text.err;
	}
	if (buf_init(&one, -1, BUF_ROOM_MAX))
		return -ENOMEM;
	size_t before = k->text.len;
	struct json j = {.out = &k->text};
	for (uint32_t i = first; i < frames_texts(f); i++) {
		one.len = 0;
		frames_put_text(k->session->frames, f, i, &one);
		json_string(&j, one.data, one.len);
	}
	int err = one.err ? one.err : k->text.err;
	buf_done(&one);
	if (!err && !first && k->text.len - before <= KEPT_BYTES)
		keep_text(k, id, t, k->text.len - before);
	return err;
}

/* Lists the shown frames of a stack in k->next, the outermost first. *ret_first: the position of
 * the outermost from which on it is shown. Their number or -ENOMEM. */
static ssize_t list_frames(struct ndjson_stacks *k, uint32_t stack, uint32_t *ret_first)
{
	struct event_stack_walk w;
	size_t n = 0;
	event_stack_begin(&w, k->session, stack);
	while (event_stack_next(&w)) {
		if (reserve(k, n + 1))
			return -ENOMEM;
		k->next[n++] = w.id;
	}
	*ret_first = w.first;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t id = k->next[i];
		k->next[i] = k->next[n - 1 - i];
		k->next[n - 1 - i] = id;
	}
	return (ssize_t)n;
}

/* Replaces the text of the last stack from the first frame on that is another. */
static int make_stack(struct ndjson_stacks *k, uint32_t stack)
{
	uint32_t first;
	ssize_t depth = list_frames(k, stack, &first);
	size_t at = 0;
	if (depth < 0)
		return (int)depth;
	while (!first && at < (size_t)depth && at < k->depth && k->frame[at] == k->next[at])
		at++;
	k->depth = at;
	k->text.len = at ? k->end[at - 1] : 0;
	for (; at < (size_t)depth; at++) {
		uint32_t from = at ? 0 : first;
		buf_put(&k->text, ",", at != 0);
		int err = put_frame(k, k->next[at], from);
		if (err)
			return err;
		k->end[at] = k->text.len;
		k->frame[at] = from ? 0 : k->next[at];
	}
	k->depth = (size_t)depth;
	stacks_hold(k->session->stacks, stack);
	stacks_drop(k->session->stacks, k->stack);
	k->stack = stack;
	return 0;
}

const struct frame_module *ndjson_stacks_module(struct ndjson_stacks *k, uint32_t stack)
{
	const struct session *s = k->session;
	struct event_stack_walk w;
	event_stack_begin(&w, s, stack);
	/* Of the last stack all are known. */
	while (w.stack != k->stack && event_stack_next(&w)) {
		const struct frame_module *m = &w.frame->module;
		uint64_t key = (uint64_t)m->path << 32 | m->build_id;
		if (!m->path || map_get(&k->modules, key))
			continue;
		uint64_t *known = map_put(&k->modules, key);
		if (!known) {
			buf_keep_error(&k->text, -ENOMEM);
			return NULL;
		}
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
