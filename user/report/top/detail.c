/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "session/phases.h"

#define LABEL_WIDTH 10	/* of a figure's history, with its last value in as many */
#define LEAST_LINES 3	/* of a section: its heading and two entries */
#define WIDE	    100 /* columns from which on domains and phases are side by side */

/* What is drawn below what; f->rows - 1 is the line of keys. */
struct pen {
	struct top_frame *f;
	unsigned row, end; /* lines up to `end` */
	unsigned col, width;
};

static unsigned left(const struct pen *p)
{
	return p->row < p->end ? p->end - p->row : 0;
}

static void put_heading(struct pen *p, const char *text)
{
	if (!left(p))
		return;
	top_frame_style(p->f, p->row, p->col, p->width, TOP_HEAD);
	top_frame_put(p->f, p->row++, p->col, p->width, TOP_HEAD, text);
}

static void put_line(struct pen *p, enum top_style style, const char *text)
{
	if (left(p))
		top_frame_put(p->f, p->row++, p->col, p->width, style, text);
}

/* ---- history ---- */

static struct top_text figure_text(enum top_figure figure, float v)
{
	struct top_text t;
	switch (figure) {
	case TOP_F_GC:
		snprintf(t.text, sizeof(t.text), "%.1f %%", (double)v);
		return t;
	case TOP_F_PAUSE:
		return top_text_ns((double)v);
	case TOP_F_ALLOC:
	case TOP_F_HEAP:
		return top_text_bytes((double)v);
	case TOP_F_LOST:
	case TOP_FIGURES:
		break;
	}
	return top_text_count((double)v);
}

static void put_history(struct pen *p, const struct top_history *h, enum top_figure figure)
{
	static const char *const labels[] = {"GC", "longest", "alloc/s", "heap", "lost"};
	if (!left(p))
		return;
	unsigned count = h->frames < TOP_HISTORY ? (unsigned)h->frames : TOP_HISTORY;
	unsigned begin = p->col + 2 * LABEL_WIDTH, room = p->width - 2 * LABEL_WIDTH - LABEL_WIDTH;
	count = count < room ? count : room;
	float most = 0;
	for (unsigned i = 0; i < count; i++) {
		float v = top_history_at(h, figure, i);
		most = v > most ? v : most;
	}
	top_frame_put(p->f, p->row, p->col, LABEL_WIDTH, TOP_PLAIN, labels[figure]);
	float last = count ? top_history_at(h, figure, 0) : -1;
	struct top_text now = {"-"}, top = {""};
	if (last >= 0)
		now = figure_text(figure, last);
	if (most > 0)
		top = figure_text(figure, most);
	top_frame_right(p->f, p->row, p->col + LABEL_WIDTH, LABEL_WIDTH - 1, TOP_STRONG, now.text);
	/* The newest on the right. */
	for (unsigned i = 0; i < count; i++) {
		uint32_t code =
			top_frame_height(p->f, top_history_at(h, figure, count - 1 - i), most);
		top_frame_char(p->f, p->row, begin + i, TOP_GOOD, code, (char)code);
	}
	if (*top.text)
		top_frame_print(p->f, p->row, begin + count + 1, TOP_FAINT, "<= %s", top.text);
	p->row++;
}

/* ---- domains and phases ---- */

static void put_lanes(struct pen *p, const struct stat_process *process, unsigned most)
{
	uint32_t shown = 0;
	put_heading(p, "DOMAIN    GC%   PAUSES   LOST");
	for (const struct stat_lane *l = process->lanes; l && shown < most && left(p);
	     l = l->next, shown++) {
		char line[96], gc[16] = "-";
		if (l->elapsed_ns)
			snprintf(gc, sizeof(gc), "%.1f",
				 stat_numbers_percent(l->pauses.clock.gc_ns, l->elapsed_ns));
		uint64_t lost = l->lost.events > l->lost.words ? l->lost.events : l->lost.words;
		snprintf(line, sizeof(line), "%s%-5u %6s %8s %6s", l->is_thread ? "t" : " ",
			 l->number, gc, top_text_count((double)l->pauses.count).text,
			 top_text_count((double)lost).text);
		put_line(p, TOP_PLAIN, line);
	}
	if (process->lane_count > shown) {
		char line[48];
		snprintf(line, sizeof(line), " and %u more", process->lane_count - shown);
		put_line(p, TOP_FAINT, line);
	}
}

/* The phase with the most time of its own of those that are not done; PHASE_ROWS: none. */
static uint32_t next_phase(const struct stat_numbers *n, const bool *done)
{
	uint32_t best = PHASE_ROWS;
	for (uint32_t i = 0; i < PHASE_ROWS; i++)
		if (!done[i] && (n->phases[i].count || n->phases[i].cut) &&
		    (best == PHASE_ROWS || n->phases[i].self_ns > n->phases[best].self_ns))
			best = i;
	return best;
}

static void put_phases(struct pen *p, const struct stat_numbers *n, unsigned most)
{
	bool done[PHASE_ROWS] = {false};
	put_heading(p, "PHASE                      SELF  TOTAL    MAX  COUNT");
	for (uint32_t i; most && left(p) && (i = next_phase(n, done)) < PHASE_ROWS; most--) {
		const struct stat_phase *ph = &n->phases[i];
		char line[128];
		done[i] = true;
		snprintf(line, sizeof(line), "%-24.24s %6s %6s %6s %6s", phases_name(i),
			 top_text_ns((double)ph->self_ns).text,
			 top_text_ns((double)ph->total_ns).text,
			 top_text_ns((double)ph->max_ns).text,
			 top_text_count((double)ph->count).text);
		put_line(p, TOP_PLAIN, line);
	}
}

/* ---- pauses ---- */

static void put_pause(struct pen *p, const struct top_opened *o, const struct top_pause *e)
{
	char line[256], domain[24];
	uint64_t since = e->end_ns > o->begin_ns ? e->end_ns - o->begin_ns : 0;
	if (e->domain != EBT_NO_DOMAIN)
		snprintf(domain, sizeof(domain), "%u", e->domain);
	else
		snprintf(domain, sizeof(domain), "t%u", e->tid);
	int n = snprintf(line, sizeof(line), "%9.3f %6s  %-6s %-18.18s", (double)since / 1e9,
			 top_text_ns((double)e->ns).text, domain, phases_name(e->row));
	for (unsigned i = 0; i < 2 && e->part_ns[i]; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%.0f %% %s", i ? ", " : " ",
			      stat_numbers_percent(e->part_ns[i], e->ns),
			      blame_part_text(e->part[i]));
	if (e->waited_for != EBT_NO_DOMAIN)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", for domain %u", e->waited_for);
	if (*e->cause)
		snprintf(line + n, sizeof(line) - (size_t)n, " (%.15s)", e->cause);
	put_line(p, TOP_PLAIN, line);
}

static void put_pauses(struct pen *p, const struct top_opened *o, unsigned most)
{
	const struct top_past *past = o->past;
	put_heading(p, "LAST PAUSES: AT, LENGTH, DOMAIN, PHASE, WHAT THE TIME WENT INTO");
	uint64_t count = past ? past->pauses : 0;
	count = count < TOP_PAUSES ? count : TOP_PAUSES;
	for (uint64_t i = 0; i < count && i < most; i++)
		put_pause(p, o, &past->pause[(past->pauses - 1 - i) % TOP_PAUSES]);
	if (!count)
		put_line(p, TOP_FAINT, "none yet since it is open");
}

/* ---- allocation sites ---- */

static void site_text(const struct session *s, uint32_t id, char *ret, size_t bytes)
{
	char scratch[FRAMES_BARE_BYTES];
	const struct frame *frame = frames_get(s->frames, id);
	/* The innermost of what is inlined. */
	const struct frame_position *at = frame->count ? &frame->position[frame->count - 1] : NULL;
	if (!at || !at->function)
		snprintf(ret, bytes, "%s", frames_bare_text(frame, scratch));
	else if (at->file && at->has_line)
		snprintf(ret, bytes, "%.80s  %.80s:%u", strings_text(s->strings, at->function),
			 strings_text(s->strings, at->file), at->line);
	else
		snprintf(ret, bytes, "%.160s", strings_text(s->strings, at->function));
}

static void put_sites(struct pen *p, const struct top_opened *o, unsigned most)
{
	const struct top_past *past = o->past;
	bool done[TOP_SITES] = {false};
	put_heading(p, "ALLOCATION SITES, BY SAMPLES");
	if (!past || !past->site) {
		put_line(p, TOP_FAINT,
			 "no allocation was sampled: --mode stream or probes, with privilege");
		return;
	}
	for (; most && left(p); most--) {
		const struct top_site *best = NULL;
		for (unsigned i = 0; i < TOP_SITES; i++)
			if (!done[i] && past->site[i].samples &&
			    (!best || past->site[i].samples > best->samples))
				best = &past->site[i];
		if (!best)
			return;
		char text[200], line[224];
		done[best - past->site] = true;
		site_text(o->session, best->frame, text, sizeof(text));
		snprintf(line, sizeof(line), "%5.1f %%  %s",
			 stat_numbers_percent(best->samples, past->samples), text);
		put_line(p, TOP_PLAIN, line);
	}
}

static void put_title(struct pen *p, const struct top_opened *o, const struct top_caption *c)
{
	struct top_frame *f = p->f;
	const struct top_row *r = o->row;
	unsigned col = r->pid ? top_frame_print(f, 0, 0, TOP_STRONG, "%u ", r->pid) : 0;
	col = top_frame_put(f, 0, col, 32, TOP_STRONG, *r->name ? r->name : "-");
	if (*o->process->producer)
		col = top_frame_print(f, 0, col, TOP_PLAIN, "  %s", o->process->producer);
	if (*r->where.container)
		col = top_frame_print(f, 0, col, TOP_PLAIN, "  %s", r->where.container);
	else if (*r->where.unit)
		col = top_frame_print(f, 0, col, TOP_PLAIN, "  %s", r->where.unit);
	top_frame_print(f, 0, col, TOP_PLAIN, "  %s%s", top_text_ns((double)c->wall_ns).text,
			r->ended ? "  ended" : "");
	const struct top_figures *g = &r->figures;
	char gc[16] = "-";
	if (g->elapsed_ns)
		snprintf(gc, sizeof(gc), "%.1f %%", top_figures_gc(g));
	col = top_frame_print(f, 1, 0, TOP_PLAIN, "GC %s  %s pause%s", gc,
			      top_text_count((double)g->pauses).text, plural(g->pauses));
	if (g->pauses)
		top_frame_print(f, 1, col, TOP_PLAIN, ", p99 %s, max %s",
				top_text_ns((double)g->p99_ns).text,
				top_text_ns((double)g->max_ns).text);
	p->row = 2;
}

/* Side by side on a wide screen, else one below the other. */
static void put_tables(struct pen *p, const struct top_opened *o, unsigned lines)
{
	if (p->width >= WIDE) {
		struct pen right = *p;
		p->width = 32;
		right.col = 34;
		right.width = right.f->cols - right.col;
		put_lanes(p, o->process, lines - 2);
		put_phases(&right, &o->process->numbers, lines - 1);
		p->width = p->f->cols;
		p->row = right.row > p->row ? right.row : p->row;
		return;
	}
	unsigned lanes = o->process->lane_count < lines / 3 ? o->process->lane_count : lines / 3;
	lanes = lanes ? lanes : 1;
	put_lanes(p, o->process, lanes);
	put_phases(p, &o->process->numbers, lines > lanes + 3 ? lines - lanes - 3 : 1);
}

void top_detail_draw(struct top_frame *f, const struct top_view *v, const struct top_opened *o,
		     const struct top_caption *c)
{
	struct pen p = {.f = f, .end = f->rows - (c->has_keys && f->rows), .width = f->cols};
	put_title(&p, o, c);
	if (o->past && p.width > 4 * LABEL_WIDTH)
		for (unsigned i = 0; i < TOP_FIGURES; i++)
			put_history(&p, &o->past->history, (enum top_figure)i);
	/* Half of what is left for the tables, the rest for pauses and sites. */
	unsigned rest = left(&p), tables = rest / 2, sites = rest / 6;
	if (tables >= LEAST_LINES)
		put_tables(&p, o, tables);
	sites = sites < 1 ? 1 : sites > TOP_SITES ? TOP_SITES : sites;
	unsigned more = left(&p);
	put_pauses(&p, o, more > sites + 2 ? more - sites - 2 : 1);
	put_sites(&p, o, TOP_SITES);
	if (c->has_keys)
		top_keys_draw(f, v);
}
