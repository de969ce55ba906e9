/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/timeline.h"
#include "report/mem/timeline_bands.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/embed.h"
#include "report/axis.h"
#include "report/mem/format.h"
#include "report/svg.h"

EMBED(timeline_style, "user/report/mem/timeline.css");
EMBED(timeline_script, "user/report/mem/timeline.js");

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
#define RATES	    150 /* columns, where the rate is all there is */
#define CHARTS	    (TOP + LIVE_HEIGHT + GAP + RATE_HEIGHT + BELOW)
#define ROW	    18	/* of the legend, which is below the charts */
#define NAME	    110 /* bytes of a name there, at most */

/* A chart; its values begin at its lower end. */
struct chart {
	struct buf *b;
	const struct mem_timeline *t;
	double ns;   /* the time of its width */
	double most; /* the value of its height */
	int y, height;
	const struct mem_timeline_bands *bands;
	double *stack; /* the upper edge of the band that is drawn */
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
			  axis_bytes_label(v).text);
}

static void put_times(const struct chart *c)
{
	double step = axis_time_step(c->ns, TIME_TICKS);
	for (unsigned i = 0; i <= TIME_TICKS && step * i <= c->ns; i++) {
		double x = x_of(c, step * i);
		svg_print(c->b,
			  "<path class=\"grid\" d=\"M%.1f %dv6\"/>"
			  "<text class=\"x\" x=\"%.1f\" y=\"%d\">%s</text>\n",
			  x, c->y + c->height, x, c->y + c->height + 20,
			  axis_time_label(step * i).text);
	}
}

static double rate_of(const struct mem_timeline *t, uint32_t i)
{
	return t->point[i].allocated / (double)t->width_ns * 1e9;
}

/* The upper edge of values that hold for a bucket each. */
static void put_steps(const struct chart *c, double (*value)(const struct chart *c, uint32_t i))
{
	for (uint32_t i = 0; i < c->t->count; i++) {
		double v = value(c, i);
		if (!i || v != value(c, i - 1))
			svg_print(c->b, "V%.1f", y_of(c, v));
		/* A line across ends where the value changes. */
		if (i + 1 == c->t->count || v != value(c, i + 1))
			svg_print(c->b, "H%.1f", x_of(c, (double)(i + 1) * (double)c->t->width_ns));
	}
}

static double max_of(const struct chart *c, uint32_t i)
{
	return c->t->point[i].max;
}

static double rate_at(const struct chart *c, uint32_t i)
{
	return rate_of(c->t, i);
}

static double stacked(const struct chart *c, uint32_t i)
{
	return c->stack[i];
}

static void put_color(struct buf *b, const struct mem_timeline_bands *bands, uint32_t k)
{
	/* The golden angle: neighbours differ, however many they are. */
	if (k < bands->listed)
		svg_print(b, "fill=\"hsl(%u,55%%,%u%%)\"", (212 + k * 137) % 360, k % 2 ? 72 : 62);
	else
		buf_puts(b, "fill=\"#c8c8c8\"");
}

static void put_name(struct buf *b, const struct mem_view *v,
		     const struct mem_timeline_bands *bands, uint32_t k, size_t most)
{
	struct buf name;
	if (!buf_init_part(&name, b))
		return;
	mem_timeline_put_name(&name, v, bands, k);
	bool is_long = name.len > most;
	/* A name is not cut within a character. */
	while (is_long && most && (name.data[most] & 0xc0) == 0x80)
		most--;
	if (is_long)
		name.len = most;
	svg_put_text(b, buf_str(&name));
	buf_puts(b, is_long ? "..." : "");
	buf_done_part(&name, b);
}

/* The last band is behind all others: each hides the lower part of those above it. 0 or -ENOMEM. */
static int put_bands(struct chart *c, const struct mem_view *v)
{
	c->stack = calloc((size_t)c->t->count + 1, sizeof(*c->stack));
	if (!c->stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->t->count; i++)
		for (uint32_t k = 0; k <= c->bands->listed; k++)
			c->stack[i] += mem_timeline_band(c->bands, k, i);
	for (uint32_t k = c->bands->listed + 1; k-- > 0;) {
		buf_puts(c->b, "<path class=\"band\" ");
		put_color(c->b, c->bands, k);
		svg_print(c->b, " d=\"M%d %d", LEFT, c->y + c->height);
		put_steps(c, stacked);
		svg_print(c->b, "V%dZ\"><title>", c->y + c->height);
		put_name(c->b, v, c->bands, k, SIZE_MAX);
		buf_puts(c->b, "</title></path>\n");
		for (uint32_t i = 0; i < c->t->count; i++)
			c->stack[i] -= mem_timeline_band(c->bands, k, i);
	}
	free(c->stack);
	svg_print(c->b, "<path class=\"live\" d=\"M%d %d", LEFT, c->y + c->height);
	put_steps(c, max_of);
	buf_puts(c->b, "\"/>\n");
	return 0;
}

/* The script replaces the values by those of the moment. */
static void put_legend(const struct chart *c, const struct mem_view *v, int y)
{
	for (uint32_t k = 0; k <= c->bands->listed; k++, y += ROW) {
		svg_print(c->b, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" ", LEFT,
			  y - 10);
		put_color(c->b, c->bands, k);
		svg_print(c->b,
			  "/><text class=\"y\" id=\"band%u\" x=\"%d\" y=\"%d\">%s</text>"
			  "<text x=\"%d\" y=\"%d\">",
			  k, LEFT + 90, y, report_bytes_text(c->bands->most[k]).text, LEFT + 100,
			  y);
		put_name(c->b, v, c->bands, k, NAME);
		buf_puts(c->b, "<title>");
		put_name(c->b, v, c->bands, k, SIZE_MAX);
		buf_puts(c->b, "</title></text>\n");
	}
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

/* What the script shows of each point: bytes alive at most, at its end, and allocated in it; those
 * of each band. */
static void put_data(const struct chart *c)
{
	svg_print(c->b,
		  "<metadata id=\"data\" data-step=\"%llu\" data-elapsed=\"%.0f\" data-left=\"%d\" "
		  "data-right=\"%d\">\n",
		  (unsigned long long)c->t->width_ns, c->ns, LEFT, SVG_WIDTH - RIGHT);
	for (uint32_t i = 0; i < c->t->count; i++) {
		const struct mem_point *p = &c->t->point[i];
		svg_print(c->b, "%.0f %.0f %.0f", p->max, p->live, p->allocated);
		for (uint32_t k = 0; k <= c->bands->listed; k++)
			svg_print(c->b, " %.0f", mem_timeline_band(c->bands, k, i));
		buf_puts(c->b, "\n");
	}
	buf_puts(c->b, "</metadata>\n");
}

/* 0 or -ENOMEM. */
static int put_charts(struct buf *b, const struct mem_view *v,
		      const struct mem_timeline_bands *bands, int panel)
{
	const struct mem_timeline *t = v->model->timeline;
	double rate = 0, ns = mem_timeline_ns(t);
	for (uint32_t i = 0; i < t->count; i++)
		rate = rate_of(t, i) > rate ? rate_of(t, i) : rate;
	double live_step = axis_bytes_step(t->peak, BYTE_TICKS);
	double rate_step = axis_bytes_step(rate, RATE_TICKS);
	struct chart live = {b, t, ns, live_step, panel + TOP, LIVE_HEIGHT, bands, NULL};
	while (live.most < t->peak)
		live.most += live_step;
	struct chart rates = {.b = b,
			      .t = t,
			      .ns = ns,
			      .most = RATE_TICKS * rate_step,
			      .y = panel + TOP + LIVE_HEIGHT + GAP,
			      .height = RATE_HEIGHT};
	put_frame(&live, "Alive, by site; the line is the most of each moment", live_step);
	int err = put_bands(&live, v);
	put_peak(&live);
	put_frame(&rates, "Allocated per second", rate_step);
	svg_print(b, "<path class=\"rate\" d=\"M%d %d", LEFT, rates.y + rates.height);
	put_steps(&rates, rate_at);
	svg_print(b, "V%dZ\"/>\n", rates.y + rates.height);
	put_times(&rates);
	put_legend(&live, v, panel + CHARTS + ROW / 2);
	put_data(&live);
	svg_print(b, "<path id=\"cursor\" class=\"cursor\" d=\"M0 %dV%d\"/>\n", live.y,
		  rates.y + rates.height);
	return err;
}

/* Periodic samples do not have what is alive: draws the rate alone. */
static void put_rate_chart(struct buf *b, const struct mem_view *v, int panel)
{
	const struct mem_timeline *t = v->model->timeline;
	double most = 0;
	for (uint32_t i = 0; i < RATES; i++)
		most = fmax(most, mem_timeline_rate(t, i, RATES));
	double step = axis_bytes_step(most, BYTE_TICKS);
	struct chart c = {.b = b,
			  .t = t,
			  .ns = mem_timeline_ns(t),
			  .most = step * fmax(1, ceil(most / step)),
			  .y = panel + TOP,
			  .height = LIVE_HEIGHT};
	put_frame(&c, "Allocated per second", step);
	svg_print(b, "<path class=\"rate\" d=\"M%d %d", LEFT, c.y + c.height);
	for (uint32_t i = 0; i < RATES; i++)
		svg_print(b, "V%.1fH%.1f", y_of(&c, mem_timeline_rate(t, i, RATES)),
			  x_of(&c, (i + 1) * c.ns / RATES));
	svg_print(b, "V%dZ\"/>\n", c.y + c.height);
	put_times(&c);
}

static void put_rate_picture(struct buf *b, const struct mem_view *v, struct buf *lines)
{
	int panel = svg_panel_height(buf_str(lines));
	struct svg s = {
		.title = "Allocation over time",
		.lines = buf_str(lines),
		.style = timeline_style,
		.style_end = timeline_style_end,
		.script = timeline_script,
		.script_end = timeline_script_end,
		.height = panel + TOP + LIVE_HEIGHT + BELOW,
		.unit = "bytes",
		.level = 1,
		.is_scaled = true,
	};
	svg_open(b, &s);
	put_rate_chart(b, v, panel);
	svg_close(b, &s);
}

int mem_timeline_svg(struct buf *b, const struct mem_view *v)
{
	struct mem_timeline_bands bands;
	struct buf lines;
	int err = mem_timeline_bands_init(&bands, v);
	if (!err)
		err = buf_init(&lines, -1, 256);
	if (err) {
		mem_timeline_bands_done(&bands);
		return err;
	}
	bool is_any = mem_put_head(&lines, v);
	if (is_any && v->model->is_periodic) {
		put_rate_picture(b, v, &lines);
		buf_done(&lines);
		mem_timeline_bands_done(&bands);
		return 0;
	}
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
		.height = panel + CHARTS + (int)(bands.listed + 2) * ROW,
		.unit = "bytes",
		.total = v->model->timeline->peak,
		.level = 1,
		.is_scaled = true,
	};
	svg_open(b, &s);
	if (is_any)
		err = put_charts(b, v, &bands, panel);
	svg_close(b, &s);
	buf_done(&lines);
	mem_timeline_bands_done(&bands);
	return err;
}
