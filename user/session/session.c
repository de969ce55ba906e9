/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Blobs of up to 32 << (BLOB_CLASSES - 1) bytes are recycled; larger ones go back to malloc. */
#define BLOB_SMALLEST 32
#define BLOB_CLASSES  10
#define BLOB_LARGE    BLOB_CLASSES
#define BLOB_NONE     UINT32_MAX

struct blob {
	void *data;
	uint32_t class;
	uint32_t next; /* in the free list of its class */
	bool live;
};

struct session_tables {
	struct blob *blobs;
	uint32_t blob_count, blob_cap;
	uint32_t free_blobs[BLOB_CLASSES + 1];
	size_t live_bytes;		/* of payloads that are out */
	size_t live_blobs, live_stacks; /* of events that are out */
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
	for (int i = 0; i <= BLOB_CLASSES; i++)
		s->tables->free_blobs[i] = BLOB_NONE;
	*ret = s;
	return 0;
}

static void free_tables(struct session_tables *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->blob_count; i++)
		free(t->blobs[i].data);
	free(t->blobs);
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

static inline uint32_t class_of(size_t bytes)
{
	size_t beyond = bytes ? (bytes - 1) / BLOB_SMALLEST : 0;
	uint32_t class = beyond ? 64 - (uint32_t)__builtin_clzll(beyond) : 0;
	return class < BLOB_CLASSES ? class : BLOB_LARGE;
}

/* A slot of the table, its memory with it if it was used before. BLOB_NONE: no memory. */
static uint32_t get_slot(struct session_tables *t, uint32_t class)
{
	uint32_t i = t->free_blobs[class];
	if (i != BLOB_NONE) {
		t->free_blobs[class] = t->blobs[i].next;
		return i;
	}
	if (!array_reserve(t->blobs, t->blob_cap, t->blob_count))
		return BLOB_NONE;
	t->blobs[t->blob_count] = (struct blob){.class = class, .next = BLOB_NONE};
	return t->blob_count++;
}

static void put_slot(struct session_tables *t, uint32_t i)
{
	struct blob *b = &t->blobs[i];
	if (b->class == BLOB_LARGE) {
		free(b->data);
		b->data = NULL;
	}
	b->live = false;
	b->next = t->free_blobs[b->class];
	t->free_blobs[b->class] = i;
}

static inline size_t room_of(uint32_t class, size_t bytes)
{
	return class == BLOB_LARGE ? bytes : (size_t)BLOB_SMALLEST << class;
}

size_t session_blob_bytes(const struct session *s)
{
	return s->tables->live_bytes;
}

int session_put_blob(struct session *s, struct ebt_event *ev, const void *data, size_t bytes)
{
	struct session_tables *t = s->tables;
	uint32_t class = class_of(bytes);
	uint32_t i = get_slot(t, class);
	if (i == BLOB_NONE)
		return -ENOMEM;
	struct blob *b = &t->blobs[i];
	b->live = true;
	if (!b->data)
		b->data = malloc(room_of(class, bytes));
	if (!b->data) {
		put_slot(t, i);
		return -ENOMEM;
	}
	if (bytes)
		memcpy(b->data, data, bytes);
	t->live_bytes += room_of(class, bytes);
	t->live_blobs++;
	ev->arg[0] = i;
	ev->arg[1] = bytes;
	ev->flags |= EBT_F_PAYLOAD;
	return 0;
}

const void *session_blob(const struct session *s, const struct ebt_event *ev, size_t *ret_bytes)
{
	const struct session_tables *t = s->tables;
	if (!(ev->flags & EBT_F_PAYLOAD) || ev->arg[0] >= t->blob_count ||
	    !t->blobs[ev->arg[0]].live)
		return NULL;
	*ret_bytes = ev->arg[1];
	return t->blobs[ev->arg[0]].data;
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
	return s->tables->live_blobs || s->tables->live_stacks;
}

static void drop_blob(struct session_tables *t, struct ebt_event *ev)
{
	ev->flags &= (uint16_t)~EBT_F_PAYLOAD;
	if (ev->arg[0] < t->blob_count && t->blobs[ev->arg[0]].live) {
		t->live_bytes -= room_of(t->blobs[ev->arg[0]].class, ev->arg[1]);
		t->live_blobs--;
		put_slot(t, (uint32_t)ev->arg[0]);
	}
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
