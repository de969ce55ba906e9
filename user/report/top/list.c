/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

#define GAP	      1
#define PROGRAM_LEAST 15 /* columns; others are left out before it has less */
#define WHERE_WIDTH   22

/* In the order of the screen. Those with the highest `leaves` are left out first, 0: never. */
struct column {
	enum top_column sort; /* TOP_COLUMNS: none */
	const char *head;
	unsigned width, leaves;
	bool is_left; /* aligned */
};
enum { C_PID, C_PROGRAM, C_BAR, C_GC, C_PAUSES, C_P99, C_MAX, C_ALLOC, C_HEAP, C_LOST, C_WHERE };
static const struct column columns[] = {
	[C_PID] = {TOP_PID, "PID", 7, 0, false},
	[C_PROGRAM] = {TOP_PROGRAM, "PROGRAM", PROGRAM_LEAST, 0, true},
	[C_BAR] = {TOP_COLUMNS, "", 10, 9, true},
	[C_GC] = {TOP_GC, "GC%", 5, 0, false},
	[C_PAUSES] = {TOP_COLUMNS, "PAUSES", 7, 8, false},
	[C_P99] = {TOP_P99, "P99", 6, 2, false},
	[C_MAX] = {TOP_MAX, "MAX", 6, 1, false},
	[C_ALLOC] = {TOP_ALLOC, "ALLOC/s", 7, 3, false},
	[C_HEAP] = {TOP_HEAP, "HEAP", 6, 4, false},
	[C_LOST] = {TOP_LOST, "LOST", 6, 5, false},
	[C_WHERE] = {TOP_COLUMNS, "UNIT, CONTAINER", WHERE_WIDTH, 10, true},
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))

/* By column: where it begins, and its width; 0: it is left out. */
struct layout {
	unsigned at[COLUMNS], width[COLUMNS];
};

static unsigned width_of(const struct layout *l)
{
	unsigned width = 0;
	for (unsigned i = 0; i < COLUMNS; i++)
		width += l->width[i] ? l->width[i] + GAP : 0;
	return width - GAP;
}

static void lay_out(unsigned cols, struct layout *ret)
{
	unsigned at = 0;
	*ret = (struct layout){0};
	for (unsigned i = 0; i < COLUMNS; i++)
		ret->width[i] = columns[i].width;
	for (unsigned leaves = 10; leaves && width_of(ret) > cols; leaves--)
		for (unsigned i = 0; i < COLUMNS; i++)
			if (columns[i].leaves == leaves)
				ret->width[i] = 0;
	unsigned used = width_of(ret);
	ret->width[C_PROGRAM] += cols > used ? cols - used : 0;
	for (unsigned i = 0; i < COLUMNS; i++) {
		ret->at[i] = at;
		at += ret->width[i] ? ret->width[i] + GAP : 0;
	}
}

static void put_heading(struct top_frame *f, unsigned row, const struct layout *l,
			const struct top_view *v)
{
	top_frame_style(f, row, 0, f->cols, TOP_HEAD);
	for (unsigned i = 0; i < COLUMNS; i++) {
		const struct column *c = &columns[i];
		if (!l->width[i])
			continue;
		const char *head = i == C_PID && v->group ? "PROCS" : c->head;
		if (i == C_PROGRAM && v->group == TOP_BY_CONTAINER)
			head = "CONTAINER";
		if (i == C_PROGRAM && v->group == TOP_BY_UNIT)
			head = "UNIT";
		enum top_style style = c->sort == v->sort ? TOP_SORTED : TOP_HEAD;
		if (c->is_left)
			top_frame_put(f, row, l->at[i], l->width[i], style, head);
		else
			top_frame_right(f, row, l->at[i], l->width[i], style, head);
	}
}

/* ---- a row ---- */

static void put_lost(const struct top_figures *f, char *ret, size_t bytes)
{
	if (f->lost_words && (!f->lost_events || f->lost_uncounted))
		snprintf(ret, bytes, "%sw", top_text_count((double)f->lost_words).text);
	else if (f->lost_uncounted)
		snprintf(ret, bytes, "?");
	else
		snprintf(ret, bytes, "%s", top_text_count((double)f->lost_events).text);
}

static void figure_text(unsigned column, const struct top_row *r, char *ret, size_t bytes)
{
	const struct top_figures *f = &r->figures;
	double gc = top_figures_gc(f);
	snprintf(ret, bytes, "-");
	switch (column) {
	case C_PID:
		if (r->is_group || r->pid)
			snprintf(ret, bytes, "%u", r->is_group ? r->processes : r->pid);
		break;
	case C_GC:
		if (gc >= 0)
			snprintf(ret, bytes, "%.1f", gc);
		break;
	case C_PAUSES:
		snprintf(ret, bytes, "%s", top_text_count((double)f->pauses).text);
		break;
	case C_P99:
	case C_MAX:
		if (f->pauses)
			snprintf(ret, bytes, "%s",
				 top_text_ns((double)(column == C_P99 ? f->p99_ns : f->max_ns))
					 .text);
		break;
	case C_ALLOC:
		if (f->has_alloc)
			snprintf(ret, bytes, "%s", top_text_bytes(f->alloc_bytes).text);
		break;
	case C_HEAP:
		if (f->has_heap)
			snprintf(ret, bytes, "%s", top_text_bytes((double)f->heap_bytes).text);
		break;
	case C_LOST:
		put_lost(f, ret, bytes);
		break;
	}
}

/* The lines of a tree before a name: three columns a level. Returns the column behind them. */
static unsigned put_branches(struct top_frame *f, unsigned row, unsigned col, unsigned end,
			     enum top_style style, const struct top_row *r)
{
	for (unsigned d = 1; d <= r->depth && col + 3 < end; d++, col += 3) {
		bool own = d == r->depth;
		bool goes_on = d < 32 && r->open >> d & 1;
		if (own && r->is_last)
			top_frame_char(f, row, col, style, 0x2514, '`');
		else if (own)
			top_frame_char(f, row, col, style, 0x251c, '|');
		else if (goes_on)
			top_frame_char(f, row, col, style, 0x2502, '|');
		if (own)
			top_frame_char(f, row, col + 1, style, 0x2500, '-');
	}
	return col;
}

static void put_name(struct top_frame *f, unsigned row, const struct layout *l,
		     enum top_style style, const struct top_row *r, bool tree)
{
	unsigned end = l->at[C_PROGRAM] + l->width[C_PROGRAM];
	unsigned col = l->at[C_PROGRAM];
	if (tree)
		col = put_branches(f, row, col, end, style, r);
	top_frame_put(f, row, col, end - col, style, *r->name ? r->name : "-");
}

static void put_where(struct top_frame *f, unsigned row, const struct layout *l,
		      enum top_style style, const struct top_row *r)
{
	const struct top_where *w = &r->where;
	top_frame_put(f, row, l->at[C_WHERE], l->width[C_WHERE], style,
		      *w->container ? w->container
		      : *w->unit    ? w->unit
				    : "-");
}

static void put_row(struct top_frame *f, unsigned row, const struct layout *l,
		    const struct top_view *v, const struct top_row *r, bool selected)
{
	char text[32];
	double gc = top_figures_gc(&r->figures);
	enum top_style style = selected ? TOP_SELECTED : r->ended ? TOP_FAINT : TOP_PLAIN;
	if (selected)
		top_frame_style(f, row, 0, f->cols, style);
	for (unsigned i = 0; i < COLUMNS; i++) {
		if (!l->width[i] || columns[i].is_left)
			continue;
		figure_text(i, r, text, sizeof(text));
		enum top_style own = style == TOP_PLAIN && i == C_GC && gc >= 10
					     ? gc >= 50 ? TOP_BAD : TOP_WARN
					     : style;
		top_frame_right(f, row, l->at[i], l->width[i], own, text);
	}
	put_name(f, row, l, style, r, v->tree && !v->group);
	if (l->width[C_BAR])
		top_frame_bar(f, row, l->at[C_BAR], l->width[C_BAR], gc);
	if (l->width[C_WHERE])
		put_where(f, row, l, style, r);
}

/* ---- the lines above ---- */

static void put_title(struct top_frame *f, const struct top_view *v, const struct top_rows *rows,
		      const struct top_caption *c)
{
	unsigned col = top_frame_put(f, 0, 0, f->cols, TOP_STRONG, "ebtrace top");
	uint32_t all = rows->running + rows->ended;
	col = top_frame_print(f, 0, col, TOP_PLAIN, "  %u process%s", all, all == 1 ? "" : "es");
	if (rows->ended)
		col = top_frame_print(f, 0, col, TOP_PLAIN, ", %u ended", rows->ended);
	col = top_frame_print(f, 0, col, TOP_PLAIN, "  %s  %s", c->source,
			      top_text_ns((double)c->wall_ns).text);
	if (v->whole && c->is_live && c->has_keys)
		col = top_frame_put(f, 0, col, f->cols, TOP_PLAIN, "  rates: whole run");
	if (v->paused)
		col = top_frame_put(f, 0, col, f->cols, TOP_STRONG, "  PAUSED");
	if (v->follows)
		top_frame_put(f, 0, col, f->cols, TOP_STRONG, "  FOLLOWING");
}

static void put_total(struct top_frame *f, const struct top_rows *rows)
{
	const struct top_figures *t = &rows->total;
	char lost[32], gc[16] = "-";
	if (t->elapsed_ns)
		snprintf(gc, sizeof(gc), "%.1f %%", top_figures_gc(t));
	put_lost(t, lost, sizeof(lost));
	unsigned col = top_frame_print(f, 1, 0, TOP_PLAIN, "GC %s", gc);
	col = top_frame_print(f, 1, col, TOP_PLAIN, "  %s pause%s",
			      top_text_count((double)t->pauses).text, plural(t->pauses));
	if (t->pauses)
		col = top_frame_print(f, 1, col, TOP_PLAIN, ", p99 %s, max %s",
				      top_text_ns((double)t->p99_ns).text,
				      top_text_ns((double)t->max_ns).text);
	if (t->has_alloc)
		col = top_frame_print(f, 1, col, TOP_PLAIN, "  alloc %s/s",
				      top_text_bytes(t->alloc_bytes).text);
	bool any = t->lost_events || t->lost_words || t->lost_uncounted;
	top_frame_print(f, 1, col, any ? TOP_BAD : TOP_PLAIN, "  lost %s", lost);
}

/* What narrows the list down, else the note. */
static void put_note(struct top_frame *f, const struct top_view *v, const struct top_caption *c)
{
	unsigned col = 0;
	if (*v->within_name)
		col = top_frame_print(f, 2, col, TOP_STRONG, "%s %s  ", top_group_names[v->within],
				      v->within_name);
	if (*v->filter)
		col = top_frame_print(f, 2, col, TOP_STRONG, "filter %s  ", v->filter);
	top_frame_put(f, 2, col, f->cols, TOP_FAINT, c->note);
}

void top_list_draw(struct top_frame *f, struct top_view *v, const struct top_rows *rows,
		   const struct top_caption *c)
{
	struct layout l;
	unsigned below = c->has_keys ? 1 : 0;
	v->page = f->rows > TOP_LIST_HEAD + below ? f->rows - TOP_LIST_HEAD - below : 0;
	top_view_settle(v, rows);
	lay_out(f->cols, &l);
	put_title(f, v, rows, c);
	put_total(f, rows);
	put_note(f, v, c);
	put_heading(f, TOP_LIST_HEAD - 1, &l, v);
	for (uint32_t i = v->first; i < rows->count && i - v->first < v->page; i++)
		put_row(f, TOP_LIST_HEAD + i - v->first, &l, v, &rows->row[i],
			c->has_keys && i == v->at);
	if (!rows->count)
		top_frame_put(f, TOP_LIST_HEAD, 0, f->cols, TOP_FAINT,
			      rows->running + rows->ended ? "no process is shown"
							  : "no process yet");
	if (c->has_keys)
		top_keys_draw(f, v);
}

/* ---- the last line, and help ---- */

static void put_question(struct top_frame *f, const struct top_view *v, unsigned row)
{
	unsigned col;
	if (v->question == TOP_ASKS_FILTER) {
		col = top_frame_print(f, row, 0, TOP_STRONG, "Filter: %s", v->filter);
		f->cursor_row = (int)row;
		f->cursor_col = (int)(col < f->cols ? col : f->cols - 1);
		top_frame_put(f, row, col + 2, f->cols, TOP_FAINT, "Enter: keep  Esc: no filter");
		return;
	}
	const char *name = sigabbrev_np(v->kill.signal);
	char number[16];
	snprintf(number, sizeof(number), "%d", v->kill.signal);
	col = top_frame_print(f, row, 0, TOP_STRONG, "Send %s%s to %u (", name ? "SIG" : "signal ",
			      name ? name : number, v->kill.pid);
	col = top_frame_put(f, row, col, f->cols > col + 40 ? f->cols - col - 40 : 8, TOP_STRONG,
			    v->kill.name);
	top_frame_print(f, row, col, TOP_STRONG, ")? y: yes  n: no  0-9: another signal");
}

void top_keys_draw(struct top_frame *f, const struct top_view *v)
{
	static const char *const list[] = {"F1",  "Help", "F4",	   "Filter", "F5", "Tree",
					   "F6",  "Sort", "g",	   "Group",  "F9", "Kill",
					   "F10", "Quit", "Enter", "Open",   NULL};
	static const char *const detail[] = {"Esc",   "Back", "F9",   "Kill", "w",
					     "Rates", "F10",  "Quit", NULL};
	if (!f->rows || !f->cols)
		return;
	unsigned row = f->rows - 1, col = 0;
	if (v->question) {
		put_question(f, v, row);
		return;
	}
	if (*v->said) {
		top_frame_put(f, row, 0, f->cols, TOP_STRONG, v->said);
		return;
	}
	for (const char *const *k = v->screen == TOP_LIST ? list : detail; *k; k += 2) {
		col = top_frame_put(f, row, col, f->cols, TOP_PLAIN, k[0]);
		col = top_frame_put(f, row, col, f->cols, TOP_HEAD, k[1]) + 1;
	}
}

void top_help_draw(struct top_frame *f)
{
	static const char *const lines[] = {
		"ebtrace top: keys",
		"",
		"Up Down PgUp PgDn Home End   select a row",
		"Enter        open a process; show the processes of a group",
		"Esc          back",
		"F4 \\ /       filter by name, PID, unit, container; a|b: either",
		"F5 t         tree of processes",
		"F6 > <       sort by the next column, by the one before",
		"P M T N      sort by GC, heap, longest pause, PID",
		"A L C 9      sort by allocation, loss, program, p99",
		"I            reverse the order",
		"g            processes, programs, containers, units",
		"F            follow the selected row when the order changes",
		"e            show or hide what has ended",
		"w            rates: since the last frame, or of the whole run",
		"Z            stop and continue the screen; events are read on",
		"F9 k         send a signal to the selected process, after asking",
		"F10 q Ctrl-C quit",
		"",
		"P99, MAX, PAUSES, LOST: since the begin of the run. GC%: share of the",
		"time of all domains. ALLOC/s: allocated in minor heaps. HEAP: last value.",
		"Any key: back",
	};
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		top_frame_put(f, i, 0, f->cols, i ? TOP_PLAIN : TOP_STRONG, lines[i]);
}
