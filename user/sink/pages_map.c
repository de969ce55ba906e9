/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of a heap as PNG and SVG. */
#include "sink/pages_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/canvas.h"
#include "sink/axis.h"
#include "sink/pages_format.h"
#include "sink/pages_grid.h"

#define WIDTH	      1280
#define HEIGHT	      860
#define LEFT	      130
#define RIGHT	      24
#define TOP	      74
#define MAP_HEIGHT    500
#define TOTALS_TOP    (TOP + MAP_HEIGHT + 50)
#define TOTALS_HEIGHT 180
#define PLOT	      (WIDTH - LEFT - RIGHT)
#define LABEL_GAP     16 /* between labels of addresses */
#define TICKS	      8
#define BYTE_TICKS    5
#define INK	      0x222222
#define GRID	      0xc8c8c8
#define FONT	      13
#define COLUMNS_MAX   PAGES_TIMELINE_POINTS
#define ROWS_MAX      2048

struct picture {
	struct canvas *canvas;
	const struct pages_model *model;
	const struct pages_map_shade *shade;
	unsigned shades;
	struct pages_grid grid;
};

/* A colour of a cell: its bits from `shift` on. */
static uint32_t mix_colour(const struct picture *p, struct pages_cell c, unsigned shift)
{
	uint32_t sum = 127, seen = 0;
	for (unsigned i = 0; i < p->shades; i++) {
		uint32_t part = c.share[p->shade[i].shade];
		seen += part;
		sum += (p->shade[i].rgb >> shift & 0xff) * part;
	}
	if (seen < 255)
		sum += (PAGES_MAP_UNSEEN >> shift & 0xff) * (255 - seen);
	return (sum / 255 < 255 ? sum / 255 : 255) << shift;
}

static uint32_t mix(const struct picture *p, struct pages_cell c)
{
	return mix_colour(p, c, 16) | mix_colour(p, c, 8) | mix_colour(p, c, 0);
}

/* The lowest address is at the bottom. */
static int draw_cells(const struct picture *p)
{
	const struct pages_grid *g = &p->grid;
	uint32_t *rgb = malloc((size_t)g->rows * g->columns * sizeof(*rgb));
	if (!rgb)
		return -ENOMEM;
	for (size_t row = 0; row < g->rows; row++)
		for (size_t x = 0; x < g->columns; x++)
			rgb[(g->rows - 1 - row) * g->columns + x] =
				mix(p, g->cell[row * g->columns + x]);
	int err = canvas_draw_cells(p->canvas, LEFT, TOP, PLOT, MAP_HEIGHT, rgb, (int)g->columns,
				    (int)g->rows);
	free(rgb);
	return err;
}

static double y_of_row(const struct picture *p, uint32_t row)
{
	return TOP + MAP_HEIGHT * (1 - (double)row / p->grid.rows);
}

static void draw_line(const struct picture *p, double x0, double y0, double x1, double y1,
		      uint32_t rgb)
{
	canvas_draw_line(p->canvas, (struct canvas_point){x0, y0}, (struct canvas_point){x1, y1}, 1,
			 rgb);
}

/* Where a region begins: its address, and a line to the one below. */
static void draw_addresses(const struct picture *p)
{
	double last = TOP + MAP_HEIGHT + LABEL_GAP;
	for (uint32_t i = 0; i < p->grid.regions; i++) {
		const struct pages_grid_region *r = &p->grid.region[i];
		double y = y_of_row(p, r->row);
		char text[32];
		if (i)
			draw_line(p, LEFT, y, LEFT + PLOT, y, INK);
		if (last - y < LABEL_GAP)
			continue;
		last = y;
		snprintf(text, sizeof(text), "0x%" PRIx64, r->addr);
		canvas_draw_text(p->canvas, LEFT - 8, y, FONT, CANVAS_RIGHT, INK, text);
		draw_line(p, LEFT - 5, y, LEFT, y, INK);
	}
	struct report_text bytes = report_bytes_text((double)(p->grid.rows * p->grid.row_bytes));
	canvas_draw_text(p->canvas, LEFT - 8, TOP + FONT, FONT, CANVAS_RIGHT, INK, bytes.text);
}

static void draw_times(const struct picture *p, double top, double bottom, bool labels)
{
	double step = axis_time_step(p->grid.ns, TICKS);
	for (unsigned i = 0; i <= TICKS && step * i <= p->grid.ns; i++) {
		double x = LEFT + PLOT * (step * i / p->grid.ns);
		if (labels)
			draw_line(p, x, top, x, bottom, GRID);
		draw_line(p, x, bottom, x, bottom + 5, INK);
		struct report_text text = axis_time_label(step * i);
		canvas_draw_text(p->canvas, x, bottom + 20, FONT, CANVAS_MIDDLE, INK, text.text);
	}
}

/* The sum of the first `below` shades, in bytes. */
static double bytes_below(const struct picture *p, const struct pages_point *at, size_t below)
{
	uint64_t pages = 0;
	for (size_t i = 0; i < below; i++)
		pages += pages_shade_count(at->count, p->shade[i].shade);
	return (double)(pages << p->model->heap.page_shift);
}

static int draw_totals(const struct picture *p)
{
	const struct pages_timeline *t = p->model->timeline;
	double most = 1;
	for (uint32_t i = 0; i < t->count; i++) {
		double all = bytes_below(p, &t->point[i], p->shades);
		most = all > most ? all : most;
	}
	double step = axis_bytes_step(most, BYTE_TICKS), bottom = TOTALS_TOP + TOTALS_HEIGHT;
	struct canvas_point *at = malloc((2 * (size_t)t->count + 2) * sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (size_t k = p->shades; k; k--) {
		size_t n = 0;
		for (uint32_t i = 0; i < t->count; i++) {
			double y = bottom - TOTALS_HEIGHT * bytes_below(p, &t->point[i], k) / most;
			at[n++] = (struct canvas_point){LEFT + PLOT * (double)i / t->count, y};
			at[n++] = (struct canvas_point){LEFT + PLOT * (i + 1.0) / t->count, y};
		}
		at[n++] = (struct canvas_point){LEFT + PLOT, bottom};
		at[n++] = (struct canvas_point){LEFT, bottom};
		canvas_fill_area(p->canvas, at, n, p->shade[k - 1].rgb);
	}
	free(at);
	for (double v = 0; v <= most; v += step) {
		double y = bottom - TOTALS_HEIGHT * v / most;
		draw_line(p, LEFT - 5, y, LEFT, y, INK);
		canvas_draw_text(p->canvas, LEFT - 8, y + 4, FONT, CANVAS_RIGHT, INK,
				 axis_bytes_label(v).text);
	}
	return 0;
}

static void draw_frame(const struct picture *p, double top, double height)
{
	draw_line(p, LEFT, top, LEFT, top + height, INK);
	draw_line(p, LEFT, top + height, LEFT + PLOT, top + height, INK);
}

/* Shades of what was found are in a line of their own. */
static void draw_legend(const struct picture *p)
{
	static const struct {
		double x, y;
	} at[PAGES_SHADES] = {
		[PAGES_SHADE_ALLOCATED] = {650, 52},  [PAGES_SHADE_FREE] = {760, 52},
		[PAGES_SHADE_SCAVENGED] = {838, 52},  [PAGES_SHADE_FOUND_ALLOCATED] = {650, 28},
		[PAGES_SHADE_FOUND_FREE] = {780, 28},
	};
	const struct pages_model *m = p->model;
	for (unsigned i = 0; i < p->shades; i++) {
		const struct pages_map_shade *s = &p->shade[i];
		double x = at[s->shade].x, y = at[s->shade].y;
		canvas_fill_rect(p->canvas, x, y - 11, 12, 12, s->rgb);
		canvas_draw_text(p->canvas, x + 18, y, FONT, CANVAS_LEFT, INK, s->name);
	}
	if (m->causes.late_ns) {
		char text[96];
		snprintf(text, sizeof(text), "found: by reading the page tables, up to %s late",
			 report_ns_text((double)m->causes.late_ns).text);
		canvas_draw_text(p->canvas, WIDTH - RIGHT, 28, FONT, CANVAS_RIGHT, INK, text);
	}
}

static void draw_head(const struct picture *p)
{
	const struct pages_model *m = p->model;
	char text[160];
	canvas_draw_text(p->canvas, LEFT, 28, 19, CANVAS_LEFT, INK, "Pages of the heap over time");
	snprintf(text, sizeof(text), "pages of %u bytes, at most %s allocated, at %s",
		 1u << m->heap.page_shift, pages_bytes_text(m, m->peak).text,
		 pages_time_text(m, m->peak_ns).text);
	canvas_draw_text(p->canvas, LEFT, 52, FONT, CANVAS_LEFT, INK, text);
	canvas_draw_text(p->canvas, WIDTH - RIGHT, 52, FONT, CANVAS_RIGHT, INK,
			 "white: never seen");
	draw_legend(p);
}

static int draw(struct picture *p)
{
	draw_head(p);
	if (!p->grid.rows) {
		canvas_draw_text(p->canvas, LEFT, TOP + 40, 19, CANVAS_LEFT, INK, "No events");
		return 0;
	}
	int err = draw_cells(p);
	draw_addresses(p);
	draw_frame(p, TOP, MAP_HEIGHT);
	draw_times(p, TOP, TOP + MAP_HEIGHT, false);
	if (!err)
		err = draw_totals(p);
	draw_frame(p, TOTALS_TOP, TOTALS_HEIGHT);
	draw_times(p, TOTALS_TOP, TOTALS_TOP + TOTALS_HEIGHT, true);
	return err;
}

static int put_picture(struct buf *b, const struct pages_view *v, enum canvas_format format)
{
	struct picture p = {.model = v->model};
	p.shades = pages_map_shades(v->model, &p.shade);
	int err = pages_grid_make(&p.grid, v->model, COLUMNS_MAX, ROWS_MAX);
	if (!err)
		err = canvas_new(format, WIDTH, HEIGHT, b, &p.canvas);
	if (!err)
		err = draw(&p);
	if (!err)
		err = canvas_finish(p.canvas);
	canvas_free(p.canvas);
	pages_grid_done(&p.grid);
	return err;
}

int pages_map_png(struct buf *b, const struct pages_view *v)
{
	return put_picture(b, v, CANVAS_PNG);
}

int pages_map_svg(struct buf *b, const struct pages_view *v)
{
	return put_picture(b, v, CANVAS_SVG);
}
