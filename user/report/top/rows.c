/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "report/top/tree.h"

#define WORD_BYTES 8
#define P99	   990000u

const char *const top_group_names[] = {
	[TOP_BY_PROCESS] = "process",
	[TOP_BY_PROGRAM] = "program",
	[TOP_BY_CONTAINER] = "container",
	[TOP_BY_UNIT] = "unit",
	[TOP_GROUPS] = NULL,
};
const char *const top_column_names[] = {
	[TOP_PID] = "pid",   [TOP_GC] = "gc",		[TOP_P99] = "p99",
	[TOP_MAX] = "max",   [TOP_ALLOC] = "alloc",	[TOP_HEAP] = "heap",
	[TOP_LOST] = "lost", [TOP_PROGRAM] = "program", [TOP_COLUMNS] = NULL,
};

double top_figures_gc(const struct top_figures *f)
{
	return f->elapsed_ns ? stat_numbers_percent(f->gc_ns, f->elapsed_ns) : -1;
}

/* ---- the figures of a process ---- */

static uint64_t gained(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void put_pauses(const struct histogram *h, struct top_figures *ret)
{
	ret->pauses = h->count;
	ret->p99_ns = histogram_at(h, P99);
	ret->max_ns = h->max;
}

static void put_sums(const struct stat_numbers *n, struct top_figures *ret)
{
	put_pauses(&n->pauses.whole, ret);
	ret->has_heap = n->heap.seen;
	ret->heap_bytes = n->heap.words * WORD_BYTES;
	ret->lost_events = n->lost.events;
	ret->lost_words = n->lost.words;
	ret->lost_uncounted = gained(n->lost.uncounted, n->lost.unwatched);
}

/* What has been counted since the marks; NULL: since the begin. */
static void put_rates(const struct stat_numbers *n, const struct top_marks *since, uint64_t ns,
		      struct top_figures *ret)
{
	static const struct top_marks none;
	const struct top_marks *m = since ? since : &none;
	struct stat_words words = stat_numbers_minor_words(n);
	ret->elapsed_ns = gained(n->elapsed_ns, m->elapsed_ns);
	ret->gc_ns = gained(n->gc_ns, m->gc_ns);
	ret->has_alloc = words.seen && ns;
	if (ret->has_alloc)
		ret->alloc_bytes =
			(double)gained(words.words, m->words) * WORD_BYTES / ((double)ns / 1e9);
}

/* How long the stretch is that rates of a process are of. */
static uint64_t stretch_ns(const struct stat_process *p, const struct top_marks *m, uint64_t at_ns)
{
	if (!m || !m->at_ns)
		return p->wall_ns;
	return gained(p->end.known && p->end.ns < at_ns ? p->end.ns : at_ns, m->at_ns);
}

struct making {
	struct top_rows *rows;
	const struct session *session;
	const struct top_pasts *pasts;
	const struct top_order *order;
	bool next;
	struct histogram all;	  /* the pauses of all */
	struct histogram *pauses; /* of each group, by row */
	uint32_t pause_cap;
};

static struct top_row *add_row(struct making *k)
{
	struct top_rows *rows = k->rows;
	if (!array_reserve(rows->row, rows->cap, rows->count))
		return NULL;
	struct top_row *r = &rows->row[rows->count++];
	*r = (struct top_row){.processes = 1};
	return r;
}

static void put_process(const struct making *k, const struct stat_process *p, struct top_row *ret)
{
	const struct process *known =
		p->process ? processes_at(&k->session->processes, p->process) : NULL;
	const struct top_past *past = top_pasts_of(k->pasts, p);
	*ret = (struct top_row){
		.id = (uint64_t)p->number + 1,
		.process = known ? p->process : 0,
		.in_order = known ? known->number : 0,
		.number = p->number,
		.pid = p->pid,
		.parent = known ? known->parent_pid : 0,
		.processes = 1,
		.ended = p->end.known || (known && known->ended),
	};
	snprintf(ret->name, sizeof(ret->name), "%s", p->comm);
	if (past)
		ret->where = past->where;
	if (past && past->where.parent)
		ret->parent = past->where.parent;
	const struct top_marks *m = NULL;
	if (past && !k->order->whole)
		m = k->next ? &past->last : &past->before;
	put_sums(&p->numbers, &ret->figures);
	put_rates(&p->numbers, m, stretch_ns(p, m, k->rows->at_ns), &ret->figures);
}

/* ---- groups ---- */

static const char *group_name(enum top_group g, const struct top_row *r)
{
	const char *name = g == TOP_BY_CONTAINER ? r->where.container
			   : g == TOP_BY_UNIT	 ? r->where.unit
						 : r->name;
	return *name ? name : "-";
}

static void add_rates(struct top_figures *sum, const struct top_figures *f)
{
	sum->gc_ns += f->gc_ns;
	sum->elapsed_ns += f->elapsed_ns;
	sum->has_alloc |= f->has_alloc;
	sum->alloc_bytes += f->has_alloc ? f->alloc_bytes : 0;
	sum->has_heap |= f->has_heap;
	sum->heap_bytes += f->heap_bytes;
}

/* 0 or -ENOMEM. */
static int add_figures(struct making *k, struct top_row *to, const struct top_figures *f,
		       const struct histogram *pauses)
{
	struct top_figures *sum = &to->figures;
	add_rates(sum, f);
	sum->lost_events += f->lost_events;
	sum->lost_words += f->lost_words;
	sum->lost_uncounted += f->lost_uncounted;
	return histogram_merge(&k->pauses[to - k->rows->row], pauses);
}

/* The row of a group, made at its first process. NULL: no memory. */
static struct top_row *group_row(struct making *k, const char *name, bool *ret_new)
{
	*ret_new = false;
	for (uint32_t i = 0; i < k->rows->count; i++)
		if (!strcmp(k->rows->row[i].name, name))
			return &k->rows->row[i];
	*ret_new = true;
	if (!array_room(k->pauses, k->pause_cap, k->rows->count))
		return NULL;
	struct top_row *r = add_row(k);
	if (!r)
		return NULL;
	r->is_group = true;
	r->processes = 0;
	r->ended = true;
	r->id = 1ull << 63 | hash_bytes(hash_start(), name, strlen(name));
	snprintf(r->name, sizeof(r->name), "%s", name);
	return r;
}

static int add_to_group(struct making *k, const struct top_row *r, const struct histogram *pauses)
{
	bool is_new;
	struct top_row *g = group_row(k, group_name(k->order->group, r), &is_new);
	if (!g)
		return -ENOMEM;
	if (is_new)
		g->where = r->where;
	g->where.container[0] =
		strcmp(g->where.container, r->where.container) ? 0 : g->where.container[0];
	g->where.unit[0] = strcmp(g->where.unit, r->where.unit) ? 0 : g->where.unit[0];
	g->processes += r->processes;
	g->ended &= r->ended;
	return add_figures(k, g, &r->figures, pauses);
}

/* Processes that were added up by their program, as one row. */
static int add_program(struct making *k, const struct stat_program *g)
{
	struct top_row r = {.processes = g->processes, .ended = true};
	snprintf(r.name, sizeof(r.name), "%s", g->comm);
	put_sums(&g->numbers, &r.figures);
	r.figures.has_heap = false;
	r.figures.heap_bytes = 0;
	if (k->order->whole)
		put_rates(&g->numbers, NULL, g->wall_ns, &r.figures);
	return add_to_group(k, &r, &g->numbers.pauses.whole);
}

static int add_programs(struct making *k, const struct stat_snapshot *snapshot)
{
	const struct top_order *o = k->order;
	int err = 0;
	bool all = o->group == TOP_BY_PROGRAM && o->ended && !*o->within_name;
	for (const struct stat_program *g = snapshot->programs->first; all && g && !err;
	     g = g->next)
		if (top_filter_matches(o->filter, g->comm))
			err = add_program(k, g);
	return err;
}

/* ---- what is shown, and in which order ---- */

bool top_filter_matches(const char *filter, const char *text)
{
	bool any = false;
	for (const char *one = filter; *one; one += *one == '|') {
		size_t len = strcspn(one, "|");
		any |= len != 0;
		for (const char *at = text; len && *at; at++)
			if (!strncasecmp(at, one, len))
				return true;
		one += len;
	}
	return !any;
}

static bool is_shown(const struct top_order *o, const struct top_row *r)
{
	char pid[16];
	snprintf(pid, sizeof(pid), "%u", r->pid);
	if (r->ended && !o->ended)
		return false;
	if (*o->within_name && strcmp(group_name(o->within, r), o->within_name) != 0)
		return false;
	return top_filter_matches(o->filter, r->name) || top_filter_matches(o->filter, pid) ||
	       top_filter_matches(o->filter, r->where.container) ||
	       top_filter_matches(o->filter, r->where.unit);
}

static int compare_double(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Lost words without a number of events are a loss, too. */
static uint64_t lost_of(const struct top_figures *f)
{
	return f->lost_events > f->lost_words ? f->lost_events : f->lost_words;
}

/* Figures: the largest first. */
static int compare_by(enum top_column column, const struct top_row *a, const struct top_row *b)
{
	const struct top_figures *f = &a->figures, *g = &b->figures;
	switch (column) {
	case TOP_GC:
		return compare_double(top_figures_gc(g), top_figures_gc(f));
	case TOP_P99:
		return compare_u64(g->p99_ns, f->p99_ns);
	case TOP_MAX:
		return compare_u64(g->max_ns, f->max_ns);
	case TOP_ALLOC:
		return compare_double(g->has_alloc ? g->alloc_bytes : -1,
				      f->has_alloc ? f->alloc_bytes : -1);
	case TOP_HEAP:
		return compare_u64(g->has_heap ? g->heap_bytes + 1 : 0,
				   f->has_heap ? f->heap_bytes + 1 : 0);
	case TOP_LOST:
		return compare_u64(lost_of(g), lost_of(f));
	case TOP_PROGRAM:
		return strcmp(a->name, b->name);
	case TOP_PID:
	case TOP_COLUMNS:
		break;
	}
	return a->is_group ? compare_u64(b->processes, a->processes) : compare_u64(a->pid, b->pid);
}

static int compare_rows(const void *x, const void *y, void *ctx)
{
	const struct top_row *a = x, *b = y;
	const struct top_order *o = ctx;
	int order = compare_by(o->sort, a, b);
	if (order)
		return o->reversed ? -order : order;
	order = compare_u64(a->pid, b->pid);
	return order ? order : a->is_group ? strcmp(a->name, b->name) : compare_u64(a->id, b->id);
}

/* 0 or -ENOMEM. */
static int add_process(struct making *k, const struct stat_process *p)
{
	struct top_row r;
	put_process(k, p, &r);
	k->rows->running += !r.ended;
	k->rows->ended += r.ended;
	add_rates(&k->rows->total, &r.figures);
	int err = histogram_merge(&k->all, &p->numbers.pauses.whole);
	if (err)
		return err;
	if (!is_shown(k->order, &r))
		return 0;
	if (k->order->group != TOP_BY_PROCESS)
		return add_to_group(k, &r, &p->numbers.pauses.whole);
	struct top_row *to = add_row(k);
	if (!to)
		return -ENOMEM;
	*to = r;
	return 0;
}

/* Of all: pauses, and what was lost, are those of the run. 0 or -ENOMEM. */
static int put_total(struct making *k, const struct stat_snapshot *snapshot)
{
	struct top_figures *t = &k->rows->total;
	int err = 0;
	for (const struct stat_program *g = snapshot->programs->first; g && !err; g = g->next)
		err = histogram_merge(&k->all, &g->numbers.pauses.whole);
	put_pauses(&k->all, t);
	struct totals totals = session_run_totals(k->session);
	t->lost_events = totals.lost_events;
	t->lost_words = totals.lost_words;
	t->lost_uncounted = gained(totals.lost_uncounted, totals.unwatched);
	return err;
}

int top_rows_make(struct top_rows *rows, const struct stat_snapshot *snapshot, uint64_t at_ns,
		  const struct session *s, const struct top_pasts *pasts, bool next,
		  const struct top_order *order)
{
	struct making k = {
		.rows = rows, .session = s, .pasts = pasts, .order = order, .next = next};
	int err = 0;
	rows->count = rows->running = rows->ended = 0;
	rows->at_ns = at_ns;
	rows->total = (struct top_figures){0};
	for (const struct stat_process *p = snapshot->first; p && !err; p = p->next)
		err = add_process(&k, p);
	if (!err)
		err = add_programs(&k, snapshot);
	for (const struct stat_program *g = snapshot->programs->first; g; g = g->next)
		rows->ended += g->processes;
	for (uint32_t i = 0; i < k.pause_cap; i++) {
		if (i < rows->count)
			put_pauses(&k.pauses[i], &rows->row[i].figures);
		histogram_done(&k.pauses[i]);
	}
	free(k.pauses);
	if (!err)
		err = put_total(&k, snapshot);
	histogram_done(&k.all);
	if (rows->count)
		qsort_r(rows->row, rows->count, sizeof(*rows->row), compare_rows, (void *)order);
	if (!err && order->tree && order->group == TOP_BY_PROCESS)
		err = top_tree_make(rows);
	return err;
}

void top_rows_done(struct top_rows *rows)
{
	free(rows->row);
	*rows = (struct top_rows){0};
}

const struct top_row *top_rows_find(const struct top_rows *rows, uint64_t id)
{
	for (uint32_t i = 0; i < rows->count; i++)
		if (rows->row[i].id == id)
			return &rows->row[i];
	return NULL;
}
