/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/rows.h"

#include "base/hash.h"
#include "session/names.h"
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
	ptrarray_free(&r->lanes);
	ptrarray_free(&r->lost);
	ptrarray_free(&r->offcpu);
	ptrarray_free(&r->processes);
}

/* What a process was called last. */
struct rows_process {
	uint64_t name; /* a hash of its names; 0: nothing yet */
};

void rows_forget(struct rows *r, uint32_t process)
{
	const struct processes *ps = &r->session->processes;
	for (uint32_t l = processes_first_lane(ps, process); l; l = processes_next_lane(ps, l)) {
		free(ptrarray_remove(&r->lanes, l));
		free(ptrarray_remove(&r->lost, l));
		free(ptrarray_remove(&r->offcpu, l));
	}
	free(ptrarray_remove(&r->processes, process));
}

struct row *rows_of_lane(struct rows *r, uint32_t lane, bool *ret_new)
{
	struct row *row = ptrarray_get(&r->lanes, lane);
	*ret_new = false;
	if (row || !lane)
		return row;
	row = ptrarray_make(&r->lanes, lane, ret_new);
	if (!row)
		return NULL;
	const struct process_lane *l = processes_lane_at(&r->session->processes, lane);
	*row = (struct row){.pid = processes_pid(&r->session->processes, l->process),
			    .tid = rows_tid(l->domain, l->tid),
			    .number = ++r->count};
	return row;
}

static struct row *row_of_losses(struct rows *r, const struct ebt_event *ev, bool *ret_new)
{
	const struct processes *ps = &r->session->processes;
	uint32_t lane = processes_lane(ps, ev->process, ev->domain);
	*ret_new = false;
	struct row *row = lane ? ptrarray_make(&r->lost, lane, ret_new) : NULL;
	if (row && *ret_new)
		*row = (struct row){.pid = processes_pid(ps, ev->process),
				    .tid = ROWS_LOST + ev->domain,
				    .number = ++r->count};
	return row;
}

static struct row *row_off_cpu(struct rows *r, const struct ebt_event *ev, bool *ret_new)
{
	const struct processes *ps = &r->session->processes;
	uint32_t lane = processes_lane_of(ps, ev);
	*ret_new = false;
	struct row *row = lane ? ptrarray_make(&r->offcpu, lane, ret_new) : NULL;
	if (row && *ret_new)
		*row = (struct row){.pid = processes_pid(ps, ev->process),
				    .tid = ROWS_OFFCPU + ev->tid,
				    .number = ++r->count};
	return row;
}

struct row *rows_of(struct rows *r, const struct ebt_event *ev, bool *ret_new)
{
	if (ev->kind == EBT_LOST)
		return row_of_losses(r, ev, ret_new);
	if (ev->kind == EBT_OFFCPU)
		return row_off_cpu(r, ev, ret_new);
	return rows_of_lane(r, processes_lane_of(&r->session->processes, ev), ret_new);
}

struct row rows_of_fibers(struct rows *r, struct fiber_track *t, bool *ret_new)
{
	*ret_new = !t->user;
	if (*ret_new)
		t->user = ++r->count;
	return (struct row){.pid = processes_pid(&r->session->processes, t->process),
			    .tid = ROWS_FIBERS + (uint32_t)t->domain * FIBER_TRACKS + t->number,
			    .number = t->user};
}

static void name_fibers(uint32_t number, char ret[ROWS_NAME_BYTES])
{
	uint32_t domain = number / FIBER_TRACKS, track = number % FIBER_TRACKS;
	if (domain == EBT_NO_DOMAIN)
		snprintf(ret, ROWS_NAME_BYTES, "fibers %u", track);
	else
		snprintf(ret, ROWS_NAME_BYTES, "fibers %u (domain %u)", track, domain);
}

void rows_name(uint32_t tid, char ret[ROWS_NAME_BYTES])
{
	if (tid == ROWS_THREADS)
		snprintf(ret, ROWS_NAME_BYTES, "process");
	else if (tid >= ROWS_FIBERS)
		name_fibers(tid - ROWS_FIBERS, ret);
	else if (tid >= ROWS_OFFCPU)
		snprintf(ret, ROWS_NAME_BYTES, "off CPU (thread %u)", tid - ROWS_OFFCPU);
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
	bool is_new;
	struct rows_process *last = ptrarray_make(&r->processes, process, &is_new);
	if (!last)
		return -ENOMEM;
	bool renamed = last->name != h;
	last->name = h;
	return renamed;
}

bool rows_has_pid(const struct rows *r, uint32_t process)
{
	const struct processes *ps = &r->session->processes;
	return processes_announced(ps, process) &&
	       processes_find(ps, processes_pid(ps, process)) == process;
}

const char *rows_begin_span(struct rows *r, struct track *t, const char *name, unsigned depth)
{
	struct strings *strings = r->session->strings;
	uint32_t held = (uint32_t)t->user_number;
	if (held && (depth || !strcmp(strings_text(strings, held), name)))
		return strings_text(strings, held);
	uint32_t string = strings_put(strings, name, strlen(name));
	if (!string)
		return NULL;
	strings_drop(strings, held);
	t->user_number = string;
	return strings_text(strings, string);
}

const char *rows_end_span(const struct rows *r, const struct track *t)
{
	return strings_text(r->session->strings, (uint32_t)t->user_number);
}

void rows_forget_span(struct rows *r, struct track *t)
{
	strings_drop(r->session->strings, (uint32_t)t->user_number);
	t->user_number = 0;
}

const char *rows_category(uint16_t kind)
{
	enum kinds_label label = kinds_get(kind)->label;
	bool is_kind = label == KINDS_LABEL_none || label == KINDS_LABEL_change;
	return is_kind ? kinds_name(kind) : kinds_label_name(label);
}

/* The loss of a ring that had wrapped when it was first read has no begin: its pos is 0. */
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
		[TRACK_OUTER] = "outer",	 [TRACK_LOST] = "lost",
		[TRACK_PROCESS] = "process",	 [TRACK_UNFINISHED] = "unfinished",
		[TRACK_NOT_ENDED] = "not_ended",
	};
	return reasons[how];
}
