/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/mem_timeline.h"

#include "sink/mem_format.h"
#include "sink/svg.h"

SVG_EMBED(timeline_style, "user/sink/timeline.css");
SVG_EMBED(timeline_script, "user/sink/timeline.js");

#define LEFT	    80 /* labels of bytes */
#define RIGHT	    24
#define TOP	    10
#define LIVE_HEIGHT 300
#define GAP	    34 /* between the charts: the title of the second one */
#define RATE_HEIGHT 90
#define BELOW	    40 /* labels of time */
#define BYTE_TICKS  6
#define RATE_TICKS  2
#define TIME_TICKS  10
#define HEIGHT	    (TOP + LIVE_HEIGHT + GAP + RATE_HEIGHT + BELOW)

/* A chart, whose values begin at its lower end. */
struct chart {
	struct buf *b;
	const struct mem_timeline *t;
	double ns;   /* the time of its width */
	double most; /* the value of its height */
	int y, height;
};

static double x_of(const struct chart *c, double ns)
{
	return LEFT + (c->ns > 0 ? ns / c->ns : 0) * (SVG_WIDTH - LEFT - RIGHT);
}

static double y_of(const struct chart *c, double value)
{
	return c->y + c->height - value / c->most * c->height;
}

/* Lines across with their values, the title above. */
static void put_frame(const struct chart *c, const char *title, double step)
{
	svg_print(c->b, "<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", LEFT, c->y - 6,
		  title);
	for (double v = 0; v <= c->most; v += step)
		svg_print(c->b,
			  "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
			  "<text class=\"y\" x=\"%d\" y=\"%.1f\">%s</text>\n",
			  LEFT, y_of(c, v), SVG_WIDTH - RIGHT, LEFT - 8, y_of(c, v) + 4,
			  mem_timeline_bytes_label(v).text);
}

static void put_times(const struct chart *c)
{
	double step = mem_timeline_time_step(c->ns, TIME_TICKS);
	for (unsigned i = 0; i <= TIME_TICKS && step * i <= c->ns; i++) {
		double x = x_of(c, step * i);
		svg_print(c->b,
			  "<path class=\"grid\" d=\"M%.1f %dv6\"/>"
			  "<text class=\"x\" x=\"%.1f\" y=\"%d\">%s</text>\n",
			  x, c->y + c->height, x, c->y + c->height + 20,
			  mem_timeline_time_label(step * i).text);
	}
}

static double rate_of(const struct mem_timeline *t, uint32_t i)
{
	return t->point[i].allocated / (double)t->width_ns * 1e9;
}

static void put_area(const struct chart *c, const char *kind, bool is_rate)
{
	svg_print(c->b, "<path class=\"%s\" d=\"M%d %d", kind, LEFT, c->y + c->height);
	for (uint32_t i = 0; i < c->t->count; i++)
		svg_print(c->b, "V%.1fH%.1f",
			  y_of(c, is_rate ? rate_of(c->t, i) : c->t->point[i].max),
			  x_of(c, (double)(i + 1) * (double)c->t->width_ns));
	svg_print(c->b, "V%dZ\"/>\n", c->y + c->height);
}

static void put_peak(const struct chart *c)
{
	double x = x_of(c, (double)(c->t->peak_ns - c->t->begin_ns)), y = y_of(c, c->t->peak);
	bool is_left = x > SVG_WIDTH / 2.0;
	svg_print(c->b,
		  "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>"
		  "<text class=\"peak\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">peak %s</text>\n",
		  x, y, x + (is_left ? -8 : 8), y - 5, is_left ? "end" : "start",
		  report_bytes_text(c->t->peak).text);
}

/* What the script shows of each point: bytes alive, at its end, and allocated in it. */
static void put_data(const struct chart *c)
{
	svg_print(c->b,
		  "<metadata id=\"data\" data-step=\"%llu\" data-elapsed=\"%.0f\" data-left=\"%d\" "
		  "data-right=\"%d\">\n",
		  (unsigned long long)c->t->width_ns, c->ns, LEFT, SVG_WIDTH - RIGHT);
	for (uint32_t i = 0; i < c->t->count; i++) {
		const struct mem_point *p = &c->t->point[i];
		svg_print(c->b, "%.0f %.0f %.0f\n", p->max, p->live, p->allocated);
	}
	buf_puts(c->b, "</metadata>\n");
}

static void put_charts(struct buf *b, const struct mem_timeline *t, int panel)
{
	double rate = 0, ns = mem_timeline_ns(t);
	for (uint32_t i = 0; i < t->count; i++)
		rate = rate_of(t, i) > rate ? rate_of(t, i) : rate;
	double live_step = mem_timeline_bytes_step(t->peak, BYTE_TICKS);
	double rate_step = mem_timeline_bytes_step(rate, RATE_TICKS);
	struct chart live = {b, t, ns, live_step, panel + TOP, LIVE_HEIGHT};
	while (live.most < t->peak)
		live.most += live_step;
	struct chart rates = {
		b, t, ns, RATE_TICKS * rate_step, panel + TOP + LIVE_HEIGHT + GAP, RATE_HEIGHT};
	put_frame(&live, "Alive", live_step);
	put_area(&live, "live", false);
	put_peak(&live);
	put_frame(&rates, "Allocated per second", rate_step);
	put_area(&rates, "rate", true);
	put_times(&rates);
	put_data(&live);
	svg_print(b, "<path id=\"cursor\" class=\"cursor\" d=\"M0 %dV%d\"/>\n", live.y,
		  rates.y + rates.height);
}

int mem_timeline_svg(struct buf *b, const struct mem_view *v)
{
	struct buf lines;
	int err = buf_init(&lines, -1, 256);
	if (err)
		return err;
	bool is_any = mem_put_head(&lines, v);
	if (is_any)
		mem_timeline_put_summary(&lines, v);
	int panel = svg_panel_height(buf_str(&lines));
	struct svg s = {
		.title = "Live memory over time",
		.lines = buf_str(&lines),
		.style = timeline_style,
		.style_end = timeline_style_end,
		.script = timeline_script,
		.script_end = timeline_script_end,
		.height = panel + HEIGHT,
		.unit = "bytes",
		.total = v->model->timeline->peak,
		.level = 1,
	};
	svg_open(b, &s);
	if (is_any)
		put_charts(b, v->model->timeline, panel);
	svg_close(b, &s);
	buf_done(&lines);
	return 0;
}
