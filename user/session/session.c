/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Payloads are laid one behind the other into chunks; a chunk is used again when all in it have
 * been given back, which is soon, as events leave about in the order in which they come. */
#define CHUNK_BYTES 65536u
#define CHUNK_LARGE (CHUNK_BYTES / 2) /* a payload that is larger has a chunk of its own */
#define CHUNK_NONE  UINT32_MAX
#define BLOB_ALIGN  16

struct chunk {
	char *data; /* NULL: it was that of a large payload */
	size_t used, room;
	uint32_t live; /* payloads in it that are out */
	uint32_t next; /* of its list */
};

struct session_tables {
	struct chunk *chunks;
	uint32_t count, cap;
	uint32_t current;	/* which payloads are laid into */
	uint32_t spare, vacant; /* lists: with memory, without */
	size_t live_bytes;	/* of chunks with payloads that are out */
	size_t live_stacks;	/* of events that are out */
};

int session_new(struct session **ret)
{
	struct session *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->tables = calloc(1, sizeof(*s->tables));
	int err = s->tables ? strings_new(&s->strings) : -ENOMEM;
	if (!err)
		err = frames_new(s->strings, &s->frames);
	if (!err)
		err = stacks_new(s->frames, &s->stacks);
	if (!err)
		err = processes_init(&s->processes, s->strings);
	if (err) {
		session_free(s);
		return err;
	}
	s->origins = ORIGIN_RING;
	s->max_stack = SESSION_MAX_STACK;
	s->tables->current = s->tables->spare = s->tables->vacant = CHUNK_NONE;
	*ret = s;
	return 0;
}

static void free_tables(struct session_tables *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->count; i++)
		free(t->chunks[i].data);
	free(t->chunks);
	free(t);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	free_tables(s->tables);
	processes_done(&s->processes);
	stacks_free(s->stacks);
	frames_free(s->frames);
	strings_free(s->strings);
	free(s);
}

/* A chunk without memory. CHUNK_NONE: -ENOMEM. */
static uint32_t vacant_chunk(struct session_tables *t)
{
	uint32_t i = t->vacant;
	if (i != CHUNK_NONE) {
		t->vacant = t->chunks[i].next;
		return i;
	}
	return array_reserve(t->chunks, t->cap, t->count) ? t->count++ : CHUNK_NONE;
}

/* An empty chunk with room for a payload. CHUNK_NONE: -ENOMEM. */
static __attribute__((noinline)) uint32_t take_chunk(struct session_tables *t, size_t bytes)
{
	bool is_large = bytes > CHUNK_LARGE;
	uint32_t i = is_large ? CHUNK_NONE : t->spare;
	if (i != CHUNK_NONE) {
		t->spare = t->chunks[i].next;
	} else {
		size_t room = is_large ? bytes : CHUNK_BYTES;
		char *data = malloc(room);
		i = data ? vacant_chunk(t) : CHUNK_NONE;
		if (i == CHUNK_NONE) {
			free(data);
			return CHUNK_NONE;
		}
		t->chunks[i] = (struct chunk){.data = data, .room = room};
	}
	/* The one before has payloads that are out, and is a spare one behind the last of them. */
	if (!is_large)
		t->current = i;
	return i;
}

/* All payloads of a chunk have been given back. */
static void empty_chunk(struct session_tables *t, uint32_t i)
{
	struct chunk *c = &t->chunks[i];
	uint32_t *list = c->room == CHUNK_BYTES ? &t->spare : &t->vacant;
	t->live_bytes -= c->room;
	c->used = 0;
	if (i == t->current)
		return;
	if (list == &t->vacant) {
		free(c->data);
		c->data = NULL;
	}
	c->next = *list;
	*list = i;
}

size_t session_blob_bytes(const struct session *s)
{
	return s->tables->live_bytes;
}

/* Copies `count` payloads; *ret_at: where an event finds the first byte. 0 or -ENOMEM. */
static inline int put_bytes(struct session_tables *t, const void *data, size_t bytes,
			    uint32_t count, uint64_t *ret_at)
{
	uint32_t i = t->current;
	if (i == CHUNK_NONE || bytes > t->chunks[i].room - t->chunks[i].used)
		i = take_chunk(t, bytes);
	if (i == CHUNK_NONE)
		return -ENOMEM;
	struct chunk *c = &t->chunks[i];
	size_t at = c->used, end = at + (bytes + BLOB_ALIGN - 1) / BLOB_ALIGN * BLOB_ALIGN;
	if (bytes)
		memcpy(c->data + at, data, bytes);
	c->used = end < c->room ? end : c->room;
	if (!c->live)
		t->live_bytes += c->room;
	c->live += count;
	*ret_at = (uint64_t)i << 32 | at;
	return 0;
}

int session_put_blob(struct session *s, struct ebt_event *ev, const void *data, size_t bytes)
{
	uint64_t at;
	if (put_bytes(s->tables, data, bytes, 1, &at))
		return -ENOMEM;
	ev->arg[0] = at;
	ev->arg[1] = bytes;
	ev->flags |= EBT_F_PAYLOAD;
	return 0;
}

static int put_one_by_one(struct session *s, struct ebt_event *ev, size_t n, const char *data)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		if (ev[i].flags & EBT_F_PAYLOAD)
			err = session_put_blob(s, &ev[i], data + ev[i].arg[0], ev[i].arg[1]);
	return err;
}

int session_put_blobs(struct session *s, struct ebt_event *ev, size_t n, uint32_t count,
		      const void *data)
{
	uint64_t first = ev->arg[0], at;
	size_t bytes = ev[n - 1].arg[0] + ev[n - 1].arg[1] - first;
	if (bytes > CHUNK_LARGE)
		return put_one_by_one(s, ev, n, data);
	if (put_bytes(s->tables, (const char *)data + first, bytes, count, &at))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (ev[i].flags & EBT_F_PAYLOAD)
			ev[i].arg[0] += at - first;
	return 0;
}

/* The chunk of an event with a payload; NULL: its payload has been given back. */
static inline struct chunk *chunk_of(const struct session_tables *t, const struct ebt_event *ev)
{
	uint64_t i = ev->arg[0] >> 32;
	return i < t->count && t->chunks[i].live ? &t->chunks[i] : NULL;
}

const void *session_blob(const struct session *s, const struct ebt_event *ev, size_t *ret_bytes)
{
	const struct chunk *c = ev->flags & EBT_F_PAYLOAD ? chunk_of(s->tables, ev) : NULL;
	if (!c)
		return NULL;
	*ret_bytes = ev->arg[1];
	return c->data + (uint32_t)ev->arg[0];
}

void session_put_stack(struct session *s, struct ebt_event *ev, uint32_t stack)
{
	if (!stack)
		return;
	stacks_hold(s->stacks, stack);
	s->tables->live_stacks++;
	ev->stack = stack;
}

bool session_has_owned(const struct session *s)
{
	return s->tables->live_bytes || s->tables->live_stacks;
}

static inline void drop_blob(struct session_tables *t, struct ebt_event *ev)
{
	struct chunk *c = chunk_of(t, ev);
	ev->flags &= (uint16_t)~EBT_F_PAYLOAD;
	if (c && !--c->live)
		empty_chunk(t, (uint32_t)(ev->arg[0] >> 32));
}

void session_drop_events(struct session *s, struct ebt_event *ev, size_t n)
{
	struct session_tables *t = s->tables;
	size_t stacks = 0;
	for (size_t i = 0; i < n; i++) {
		if (ev[i].stack) {
			stacks_drop(s->stacks, ev[i].stack);
			ev[i].stack = 0;
			stacks++;
		}
		if (ev[i].flags & EBT_F_PAYLOAD)
			drop_blob(t, &ev[i]);
	}
	t->live_stacks -= stacks;
}

void session_drop_event(struct session *s, struct ebt_event *ev)
{
	session_drop_events(s, ev, 1);
}

struct totals session_run_totals(const struct session *s)
{
	struct totals sum = s->past;
	totals_add(&sum, &s->totals);
	return sum;
}

void session_next_output(struct session *s)
{
	/* Of what was before nothing counts in the output that begins. */
	if (s->run_begin.known && s->totals.last_ns > s->run_begin.ns)
		s->run_begin.ns = s->totals.last_ns;
	s->past = session_run_totals(s);
	s->totals = (struct totals){0};
}
