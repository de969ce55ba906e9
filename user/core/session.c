/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/session.h"

#include "base/map.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	struct map by_pid;		    /* pid → struct session_process * */
	struct map user_names;		    /* pid << 32 | id → char * */
	struct session_process **processes; /* as they were made */
	size_t process_count, process_cap;
	struct session_process *last_used; /* events of one process come in runs */
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
	if (err) {
		session_free(s);
		return err;
	}
	s->origins = ORIGIN_RING;
	for (int i = 0; i <= BLOB_CLASSES; i++)
		s->tables->free_blobs[i] = BLOB_NONE;
	*ret = s;
	return 0;
}

static void free_values(struct map *m)
{
	size_t at = 0;
	for (struct map_slot *slot; (slot = map_next(m, &at));)
		free((void *)(uintptr_t)slot->value);
	map_done(m);
}

static void free_tables(struct session_tables *t)
{
	if (!t)
		return;
	map_done(&t->by_pid);
	for (size_t i = 0; i < t->process_count; i++)
		free(t->processes[i]);
	free(t->processes);
	free_values(&t->user_names);
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
	stacks_free(s->stacks);
	frames_free(s->frames);
	strings_free(s->strings);
	free(s);
}

static struct session_process *find_process(const struct session *s, uint32_t pid)
{
	struct session_tables *t = s->tables;
	if (t->last_used && t->last_used->pid == pid)
		return t->last_used;
	uint64_t *value = map_get(&t->by_pid, pid);
	if (!value)
		return NULL;
	t->last_used = (void *)(uintptr_t)*value;
	return t->last_used;
}

static bool has_place(struct session_tables *t)
{
	if (t->process_count < t->process_cap)
		return true;
	size_t cap = t->process_cap ? 2 * t->process_cap : 16;
	struct session_process **more =
		realloc(t->processes, cap * sizeof(struct session_process *));
	if (!more)
		return false;
	t->processes = more;
	t->process_cap = cap;
	return true;
}

struct session_process *session_process(struct session *s, uint32_t pid)
{
	struct session_tables *t = s->tables;
	struct session_process *p = find_process(s, pid);
	if (p)
		return p;
	p = has_place(t) ? calloc(1, sizeof(*p)) : NULL;
	uint64_t *value = p ? map_put(&t->by_pid, pid) : NULL;
	if (!value) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	*value = (uintptr_t)p;
	t->processes[t->process_count++] = p;
	return p;
}

struct session_process *session_find_process(const struct session *s, uint32_t pid)
{
	return find_process(s, pid);
}

const struct session_process *session_next_process(const struct session *s, size_t *at)
{
	return *at < s->tables->process_count ? s->tables->processes[(*at)++] : NULL;
}

const struct session_process *session_first_process(const struct session *s)
{
	size_t first = 0;
	return session_next_process(s, &first);
}

static uint64_t name_key(uint32_t pid, uint32_t id)
{
	return (uint64_t)pid << 32 | id;
}

int session_set_user_name(struct session *s, uint32_t pid, uint32_t id, const char *name)
{
	const char *old = session_user_name(s, pid, id);
	if (old && !strcmp(old, name))
		return 0;
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	uint64_t *value = map_put(&s->tables->user_names, name_key(pid, id));
	if (!value) {
		free(copy);
		return -ENOMEM;
	}
	free((void *)(uintptr_t)*value);
	*value = (uintptr_t)copy;
	s->user_names++;
	return 0;
}

const char *session_user_name(const struct session *s, uint32_t pid, uint32_t id)
{
	uint64_t *value = map_get(&s->tables->user_names, name_key(pid, id));
	return value ? (const char *)(uintptr_t)*value : NULL;
}

static uint32_t class_of(size_t bytes)
{
	uint32_t class = 0;
	while (class < BLOB_CLASSES && bytes > (size_t)BLOB_SMALLEST << class)
		class ++;
	return class;
}

/* A slot of the table, its memory with it if it was used before. BLOB_NONE: no memory. */
static uint32_t take_slot(struct session_tables *t, uint32_t class)
{
	uint32_t i = t->free_blobs[class];
	if (i != BLOB_NONE) {
		t->free_blobs[class] = t->blobs[i].next;
		return i;
	}
	if (t->blob_count == t->blob_cap) {
		uint32_t cap = t->blob_cap ? t->blob_cap * 2 : 64;
		struct blob *blobs = realloc(t->blobs, cap * sizeof(*blobs));
		if (!blobs)
			return BLOB_NONE;
		t->blobs = blobs;
		t->blob_cap = cap;
	}
	t->blobs[t->blob_count] = (struct blob){.class = class, .next = BLOB_NONE};
	return t->blob_count++;
}

static void give_slot(struct session_tables *t, uint32_t i)
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

static size_t room_of(size_t bytes)
{
	uint32_t class = class_of(bytes);
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
	uint32_t i = take_slot(t, class);
	if (i == BLOB_NONE)
		return -ENOMEM;
	struct blob *b = &t->blobs[i];
	b->live = true;
	if (!b->data)
		b->data = malloc(room_of(bytes));
	if (!b->data) {
		give_slot(t, i);
		return -ENOMEM;
	}
	if (bytes)
		memcpy(b->data, data, bytes);
	t->live_bytes += room_of(bytes);
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

void session_drop_event(struct session *s, struct ebt_event *ev)
{
	struct session_tables *t = s->tables;
	if (ev->stack) {
		stacks_drop(s->stacks, ev->stack);
		ev->stack = 0;
		t->live_stacks--;
	}
	if (!(ev->flags & EBT_F_PAYLOAD))
		return;
	ev->flags &= (uint16_t)~EBT_F_PAYLOAD;
	if (ev->arg[0] < t->blob_count && t->blobs[ev->arg[0]].live) {
		t->live_bytes -= room_of(ev->arg[1]);
		t->live_blobs--;
		give_slot(t, (uint32_t)ev->arg[0]);
	}
}

uint32_t session_raw_phase(const struct session *s, uint32_t pid, uint32_t id)
{
	if (id & EBT_UNKNOWN_ID)
		return id & ~EBT_UNKNOWN_ID;
	const struct session_process *p = find_process(s, pid);
	return p && p->raw_phase && id < p->raw_phases ? p->raw_phase[id] : id;
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
