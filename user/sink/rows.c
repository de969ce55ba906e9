/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/rows.h"

#include "base/hash.h"
#include "core/names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rows_init(struct rows *r, const struct session *s)
{
	*r = (struct rows){.session = s};
}

void rows_done(struct rows *r)
{
	ptrmap_free(&r->spans);
	ptrmap_free(&r->tids);
	map_done(&r->known);
	map_done(&r->names);
}

/* The rows of one process. */
struct row_tids {
	uint32_t count, cap;
	uint32_t tid[];
};

static int note_tid(struct rows *r, uint32_t pid, uint32_t tid)
{
	struct row_tids *t = ptrmap_get(&r->tids, pid);
	if (!t || t->count == t->cap) {
		uint32_t count = t ? t->count : 0, cap = t ? 2 * t->cap : 4;
		struct row_tids *more = malloc(sizeof(*t) + cap * sizeof(t->tid[0]));
		if (!more || ptrmap_set(&r->tids, pid, more)) {
			free(more);
			return -ENOMEM;
		}
		more->count = count;
		more->cap = cap;
		if (t)
			memcpy(more->tid, t->tid, count * sizeof(t->tid[0]));
		free(t);
		t = more;
	}
	t->tid[t->count++] = tid;
	return 0;
}

void rows_forget(struct rows *r, uint32_t pid)
{
	struct row_tids *t = ptrmap_take(&r->tids, pid);
	for (uint32_t i = 0; t && i < t->count; i++) {
		r->recent[(pid * 31 + t->tid[i]) % ROWS_RECENT].number = 0;
		map_delete(&r->known, (uint64_t)pid << 32 | t->tid[i]);
	}
	free(t);
	map_delete(&r->names, pid);
}

const struct row *rows_put(struct rows *r, uint32_t pid, uint32_t tid, bool *ret_new)
{
	struct row *recent = &r->recent[(pid * 31 + tid) % ROWS_RECENT];
	*ret_new = false;
	if (recent->number && recent->pid == pid && recent->tid == tid)
		return recent;
	uint64_t *number = map_put(&r->known, (uint64_t)pid << 32 | tid);
	if (!number)
		return NULL;
	*ret_new = !*number;
	if (*ret_new && note_tid(r, pid, tid)) {
		map_delete(&r->known, (uint64_t)pid << 32 | tid);
		return NULL;
	}
	if (*ret_new)
		*number = ++r->count;
	*recent = (struct row){.pid = pid, .tid = tid, .number = (uint32_t)*number};
	return recent;
}

void rows_name(uint32_t tid, char ret[ROWS_NAME_BYTES])
{
	if (tid == ROWS_THREADS)
		snprintf(ret, ROWS_NAME_BYTES, "process");
	else if (tid > ROWS_THREADS)
		snprintf(ret, ROWS_NAME_BYTES, "thread %u", tid - ROWS_THREADS);
	else if (tid == ROWS_LOST + EBT_NO_DOMAIN)
		snprintf(ret, ROWS_NAME_BYTES, "lost events");
	else if (tid >= ROWS_LOST)
		snprintf(ret, ROWS_NAME_BYTES, "lost events (domain %u)", tid - ROWS_LOST);
	else
		snprintf(ret, ROWS_NAME_BYTES, "domain %u", tid);
}

const char *rows_process_name(const struct process *p)
{
	if (p && *p->comm)
		return p->comm;
	if (p && *p->producer)
		return p->producer;
	return "process not known";
}

int rows_process_renamed(struct rows *r, uint32_t process)
{
	const struct processes *ps = &r->session->processes;
	const struct process *p = processes_announced(ps, process);
	uint64_t h = hash_string(hash_start(), rows_process_name(p));
	if (p)
		h = hash_string(hash_string(h, p->producer), p->runtime);
	uint64_t *last = map_put(&r->names, processes_pid(ps, process));
	if (!last)
		return -ENOMEM;
	bool renamed = *last != h;
	*last = h;
	return renamed;
}

const char *rows_begin_span(struct rows *r, struct track *t, const char *name, unsigned depth)
{
	char *held = t->user;
	if (held && (depth || !strcmp(held, name)))
		return held;
	char *copy = strdup(name);
	if (!copy || ptrmap_set(&r->spans, t->number, copy)) {
		free(copy);
		return NULL;
	}
	free(held);
	t->user = copy;
	return copy;
}

const char *rows_end_span(const struct track *t)
{
	return t->user;
}

void rows_forget_span(struct rows *r, struct track *t)
{
	free(ptrmap_take(&r->spans, t->number));
	t->user = NULL;
}

const char *rows_category(uint16_t kind)
{
	enum kinds_label label = kinds_get(kind)->label;
	bool is_kind = label == KINDS_LABEL_none || label == KINDS_LABEL_change;
	return is_kind ? kinds_name(kind) : kinds_label_name(label);
}

/* A ring that had wrapped when it was first read does not tell since when: that would be time 0. */
uint64_t rows_lost_since(const struct session *s, const struct ebt_event *ev)
{
	uint64_t since = EBT_LOST_SINCE(ev);
	if (since < s->totals.first_ns)
		since = s->totals.first_ns;
	return since < ev->ts ? since : ev->ts;
}

const char *rows_cut(enum track_end how)
{
	static const char *const reasons[] = {
		[TRACK_OUTER] = "outer",
		[TRACK_LOST] = "lost",
		[TRACK_PROCESS] = "process",
		[TRACK_UNFINISHED] = "unfinished",
	};
	return reasons[how];
}
