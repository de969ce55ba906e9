/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/mmu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "report/axis.h"
#include "report/stat/model/mutator.h"
#include "report/svg.h"
#include "report/text.h"

#define LEFT	   60  /* labels of shares */
#define RIGHT	   260 /* names of curves */
#define TOP	   16
#define HEIGHT	   400
#define BELOW	   40
#define SHARES	   5 /* lines across, of 20 % each */
#define ROW	   18
#define CURVES_MAX 12

static const char style[] = "svg{background:#fff;font:12px system-ui,-apple-system,\"Segoe "
			    "UI\",\"DejaVu Sans\",sans-serif;"
			    "fill:#222}\n"
			    ".title{font-size:18px;font-weight:600}\n"
			    ".head{fill:#555}\n"
			    ".panel{fill:#fff}\n"
			    ".grid{stroke:#ddd;fill:none}\n"
			    ".x{text-anchor:middle;fill:#555}\n"
			    ".y{text-anchor:end;fill:#555}\n"
			    ".curve{fill:none;stroke-width:1.5}\n"
			    ".whole{stroke-width:3}\n";

struct curve {
	char name[64];
	const double *least;
	uint64_t gc_ns, within_ns;
	bool is_whole; /* of a process beside its domains: it is drawn thick, and comes first */
};

struct curves {
	struct curve *at;
	uint32_t count;
};

static void add(struct curves *c, const struct mmu *m, uint64_t gc_ns, bool is_whole)
{
	c->at[c->count++] = (struct curve){.least = m->least,
					   .gc_ns = gc_ns,
					   .within_ns = mmu_within_ns(m),
					   .is_whole = is_whole};
}

static int by_gc_time(const void *a, const void *b)
{
	const struct curve *x = a, *y = b;
	if (x->is_whole != y->is_whole)
		return x->is_whole ? -1 : 1;
	return x->gc_ns != y->gc_ns ? (x->gc_ns < y->gc_ns ? 1 : -1) : strcmp(x->name, y->name);
}

static void add_lanes(struct curves *c, const struct stat_process *p)
{
	for (const struct stat_lane *l = p->lanes; l; l = l->next) {
		if (!l->mutator)
			continue;
		add(c, &l->mutator->windows, l->pauses.clock.gc_ns, false);
		snprintf(c->at[c->count - 1].name, sizeof(c->at->name), "%s %u",
			 l->is_thread ? "thread" : "domain", l->number);
	}
}

/* 0 or -ENOMEM. */
static int collect(struct curves *c, const struct stat_snapshot *s)
{
	bool one = s->listed == 1;
	size_t most = (size_t)s->listed + (one ? s->first->lane_count : 0) + 1;
	*c = (struct curves){.at = calloc(most, sizeof(*c->at))};
	if (!c->at)
		return -ENOMEM;
	for (const struct stat_process *p = s->first; p; p = p->next) {
		if (!p->mutator)
			continue;
		add(c, &p->mutator->windows, p->numbers.gc_ns, one);
		snprintf(c->at[c->count - 1].name, sizeof(c->at->name), "%s%sprocess %u", p->comm,
			 *p->comm ? ", " : "", p->pid);
		if (one)
			add_lanes(c, p);
	}
	qsort(c->at, c->count, sizeof(*c->at), by_gc_time);
	return 0;
}

static uint64_t within_ns(const struct curves *c)
{
	uint64_t most = 0;
	for (uint32_t i = 0; i < c->count; i++)
		most = c->at[i].within_ns > most ? c->at[i].within_ns : most;
	return most;
}

static double x_of(uint64_t window_ns)
{
	double from = log((double)mmu_window_ns[0]);
	double whole = log((double)mmu_window_ns[MMU_WINDOWS - 1]) - from;
	return LEFT + (log((double)window_ns) - from) / whole * (SVG_WIDTH - LEFT - RIGHT);
}

static double y_of(int top, double share)
{
	return top + HEIGHT * (1 - share);
}

static void put_frame(struct buf *b, int top)
{
	for (unsigned i = 0; i <= SHARES; i++) {
		double y = y_of(top, (double)i / SHARES);
		svg_print(b,
			  "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
			  "<text class=\"y\" x=\"%d\" y=\"%.1f\">%u %%</text>\n",
			  LEFT, y, SVG_WIDTH - RIGHT, LEFT - 8, y + 4, 100 * i / SHARES);
	}
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		double x = x_of(mmu_window_ns[i]);
		svg_print(b,
			  "<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
			  "<text class=\"x\" x=\"%.1f\" y=\"%d\">%s</text>\n",
			  x, top, top + HEIGHT + 6, x, top + HEIGHT + 20,
			  axis_time_label((double)mmu_window_ns[i]).text);
	}
	svg_print(b, "<text class=\"x\" x=\"%.1f\" y=\"%d\">length of the window</text>\n",
		  (LEFT + SVG_WIDTH - RIGHT) / 2.0, top + HEIGHT + 36);
}

static void put_color(struct buf *b, uint32_t number)
{
	/* The golden angle: neighbours differ. */
	svg_print(b, "hsl(%u,60%%,42%%)", (212 + number * 137) % 360);
}

static void put_curve(struct buf *b, int top, const struct curve *c, uint32_t number)
{
	bool pen = false;
	buf_puts(b, c->is_whole ? "<path class=\"curve whole\" stroke=\""
				: "<path class=\"curve\" stroke=\"");
	put_color(b, number);
	buf_puts(b, "\" d=\"");
	for (unsigned i = 0; i < MMU_WINDOWS; i++) {
		if (!isnan(c->least[i]))
			svg_print(b, "%c%.1f %.1f", pen ? 'L' : 'M', x_of(mmu_window_ns[i]),
				  y_of(top, c->least[i]));
		pen = !isnan(c->least[i]);
	}
	buf_puts(b, "\"/>\n");
	int x = SVG_WIDTH - RIGHT + 20, y = top + ROW / 2 + (int)number * ROW;
	svg_print(b, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"%d\" fill=\"", x, y - 6,
		  c->is_whole ? 4 : 2);
	put_color(b, number);
	svg_print(b, "\"/><text x=\"%d\" y=\"%d\">", x + 18, y);
	svg_put_text(b, c->name);
	buf_puts(b, "</text>\n");
}

int stat_mmu_svg(struct buf *b, const struct stat_report *r)
{
	struct curves c;
	struct buf lines;
	int err = collect(&c, r->snapshot);
	if (err)
		return err;
	if ((err = buf_init(&lines, -1, 256))) {
		free(c.at);
		return err;
	}
	report_print(&lines,
		     "The least share of time that the mutator had in a window, by its length; of "
		     "%s of run.\n",
		     report_ns_text((double)r->wall_ns).text);
	if (within_ns(&c))
		report_print(&lines, "Stopped times of windows are right to within %s.\n",
			     report_ns_text((double)within_ns(&c)).text);
	uint32_t shown = c.count < CURVES_MAX ? c.count : CURVES_MAX;
	if (shown < c.count)
		report_print(&lines, "%u curve%s of less GC time left out.\n", c.count - shown,
			     plural_of(c.count - shown, " is", "s are"));
	int top = svg_panel_height(buf_str(&lines)) + TOP;
	struct svg s = {
		.title = "Minimum mutator utilization",
		.lines = buf_str(&lines),
		.style = style,
		.style_end = style + sizeof(style) - 1,
		.script = "",
		.height = top + HEIGHT + BELOW,
		.unit = "percent",
		.total = 100,
		.level = 1,
		.is_scaled = true,
	};
	s.script_end = s.script;
	svg_open(b, &s);
	put_frame(b, top);
	for (uint32_t i = shown; i-- > 0;)
		put_curve(b, top, &c.at[i], i);
	svg_close(b, &s);
	buf_done(&lines);
	free(c.at);
	return 0;
}
