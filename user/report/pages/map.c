/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of a heap as PNG and SVG. */
#include "report/pages/map.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/canvas.h"
#include "base/xml.h"
#include "report/axis.h"
#include "report/pages/format.h"
#include "report/pages/grid.h"
#include "report/pages/labels.h"

#define WIDTH	      1280
#define HEIGHT	      860
#define LEFT	      130
#define RIGHT	      24
#define NAMES	      190 /* beside the map */
#define TOP	      104
#define MAP_HEIGHT    474
#define TOTALS_TOP    (TOP + MAP_HEIGHT + 50)
#define TOTALS_HEIGHT 180
#define LABEL_GAP     16 /* between labels of addresses */
#define NAME_GAP      14 /* between names of mappings */
#define NAME_SIZE     12
#define LABELS_MAX    (MAP_HEIGHT / NAME_GAP + 1)
#define TICKS	      8
#define BYTE_TICKS    5
#define INK	      0x222222
#define GRID	      0xc8c8c8
#define CUT	      0x707070 /* addresses that are left out */
#define FONT	      13
#define COLUMNS_MAX   PAGES_TIMELINE_POINTS
#define ROWS_MAX      2048
#define SVG_BYTES     (256u << 10)

struct picture {
	struct canvas *canvas;
	const struct pages_model *model;
	const struct pages_map_shade *shade;
	unsigned shades;
	struct pages_grid grid;
	const struct pages_view *view;
	struct pages_labels labels;
	double plot; /* the width of the map */
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
	int err = canvas_draw_cells(p->canvas, LEFT, TOP, p->plot, MAP_HEIGHT, rgb, (int)g->columns,
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
			draw_line(p, LEFT, y, LEFT + p->plot, y, CUT);
		if (last - y < LABEL_GAP)
			continue;
		last = y;
		snprintf(text, sizeof(text), "0x%" PRIx64, r->addr);
		canvas_draw_text(p->canvas, LEFT - 8, y, FONT, CANVAS_RIGHT, INK, text);
		draw_line(p, LEFT - 5, y, LEFT, y, INK);
	}
	/* How much that is, where the highest address leaves room for it. */
	struct report_text bytes = report_bytes_text((double)(p->grid.rows * p->grid.row_bytes));
	if (last - TOP - FONT >= LABEL_GAP)
		canvas_draw_text(p->canvas, LEFT - 8, TOP + FONT, FONT, CANVAS_RIGHT, INK,
				 bytes.text);
}

/* ---- names of mappings ---- */

/* As much of a name as there is room for. */
static void draw_name(const struct picture *p, double y, const char *name)
{
	char text[MAPPINGS_NAME_BYTES + sizeof("\u2026")];
	size_t n = strlen(name);
	snprintf(text, sizeof(text), "%s", name);
	while (n && canvas_text_width(p->canvas, NAME_SIZE, text) > NAMES - RIGHT) {
		do
			n--;
		while (n && (name[n] & 0xc0) == 0x80);
		snprintf(text, sizeof(text), "%.*s\u2026", (int)n, name);
	}
	canvas_draw_text(p->canvas, LEFT + p->plot + 10, y + NAME_SIZE / 3.0, NAME_SIZE,
			 CANVAS_LEFT, INK, text);
}

static double y_of_label(const struct picture *p, const struct pages_label *l)
{
	return y_of_row(p, l->row) - MAP_HEIGHT * l->rows / 2.0 / p->grid.rows;
}

/* The one with the most rows that has room beside those that have a name; NULL: none. */
static const struct pages_label *next_label(const struct picture *p, const double *y, unsigned used)
{
	const struct pages_label *best = NULL;
	for (uint32_t i = 0; i < p->labels.count; i++) {
		const struct pages_label *l = &p->labels.at[i];
		bool fits = !best || l->rows > best->rows;
		for (unsigned k = 0; fits && k < used; k++)
			fits = fabs(y[k] - y_of_label(p, l)) >= NAME_GAP;
		if (fits)
			best = l;
	}
	return best;
}

static void draw_names(const struct picture *p)
{
	double y[LABELS_MAX], x = LEFT + p->plot + 4;
	const struct pages_label *l;
	for (unsigned n = 0; n < LABELS_MAX && (l = next_label(p, y, n)); n++) {
		y[n] = y_of_label(p, l);
		draw_name(p, y[n], l->name);
		draw_line(p, x, y_of_row(p, l->row + l->rows), x, y_of_row(p, l->row), INK);
	}
}

static void draw_times(const struct picture *p, double top, double bottom, bool labels)
{
	double step = axis_time_step(p->grid.ns, TICKS);
	for (unsigned i = 0; i <= TICKS && step * i <= p->grid.ns; i++) {
		double x = LEFT + p->plot * (step * i / p->grid.ns);
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
			at[n++] = (struct canvas_point){LEFT + p->plot * (double)i / t->count, y};
			at[n++] = (struct canvas_point){LEFT + p->plot * (i + 1.0) / t->count, y};
		}
		at[n++] = (struct canvas_point){LEFT + p->plot, bottom};
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
	draw_line(p, LEFT, top + height, LEFT + p->plot, top + height, INK);
}

/* ---- the head ---- */

struct legend {
	const struct picture *p;
	double x, y;
};

/* Goes on behind the item before, or in the next line. */
static void begin_item(struct legend *l, double mark, const char *text)
{
	double width = mark + canvas_text_width(l->p->canvas, FONT, text);
	if (l->x > LEFT && l->x + width > WIDTH - RIGHT) {
		l->x = LEFT;
		l->y += 20;
	}
	canvas_draw_text(l->p->canvas, l->x + mark, l->y, FONT, CANVAS_LEFT, INK, text);
	l->x += width + 20;
}

static void draw_box(struct legend *l, const char *text, uint32_t rgb, bool framed)
{
	begin_item(l, 18, text);
	double x = l->x - 38 - canvas_text_width(l->p->canvas, FONT, text), y = l->y - 11;
	if (framed)
		canvas_fill_rect(l->p->canvas, x, y, 12, 12, CUT);
	canvas_fill_rect(l->p->canvas, x + framed, y + framed, 12 - 2 * framed, 12 - 2 * framed,
			 rgb);
}

static void draw_cut(struct legend *l, const char *text)
{
	begin_item(l, 28, text);
	double x = l->x - 48 - canvas_text_width(l->p->canvas, FONT, text);
	draw_line(l->p, x, l->y - 4.5, x + 22, l->y - 4.5, CUT);
}

static void draw_legend(const struct picture *p)
{
	const struct pages_model *m = p->model;
	struct legend l = {p, LEFT, 72};
	for (unsigned i = 0; i < p->shades; i++)
		draw_box(&l, p->shade[i].name, p->shade[i].rgb, false);
	draw_box(&l, "never seen", PAGES_MAP_UNSEEN, true);
	if (p->grid.regions > 1)
		draw_cut(&l, "addresses between that were never used are left out");
	if (m->causes.late_ns) {
		char text[96];
		snprintf(text, sizeof(text), "found: by reading the page tables, up to %s late",
			 report_ns_text((double)m->causes.late_ns).text);
		begin_item(&l, 0, text);
	}
}

/* 0 or -ENOMEM. */
static int draw_head(const struct picture *p)
{
	const struct pages_model *m = p->model;
	struct buf b;
	if (buf_init(&b, -1, BUF_ROOM_MAX))
		return -ENOMEM;
	pages_put_title(&b, p->view);
	canvas_draw_text(p->canvas, LEFT, 28, 19, CANVAS_LEFT, INK, buf_str(&b));
	b.len = 0;
	report_print(&b, "%s in pages of %u bytes, at most %s allocated, at %s",
		     report_ns_text(p->grid.ns).text, 1u << m->heap.page_shift,
		     pages_bytes_text(m, m->peak).text, pages_time_text(m, m->peak_ns).text);
	size_t before = b.len;
	buf_puts(&b, "; from ");
	size_t from = b.len;
	pages_put_begin(&b, p->view);
	b.len = b.len == from ? before : b.len;
	canvas_draw_text(p->canvas, LEFT, 50, FONT, CANVAS_LEFT, INK, buf_str(&b));
	int err = b.err;
	buf_done(&b);
	draw_legend(p);
	return err;
}

static int draw(struct picture *p)
{
	int err = draw_head(p);
	if (!p->grid.rows) {
		canvas_draw_text(p->canvas, LEFT, TOP + 40, 19, CANVAS_LEFT, INK, "No events");
		return err;
	}
	if (!err)
		err = draw_cells(p);
	draw_addresses(p);
	draw_names(p);
	draw_frame(p, TOP, MAP_HEIGHT);
	draw_times(p, TOP, TOP + MAP_HEIGHT, false);
	if (!err)
		err = draw_totals(p);
	draw_frame(p, TOTALS_TOP, TOTALS_HEIGHT);
	draw_times(p, TOTALS_TOP, TOTALS_TOP + TOTALS_HEIGHT, true);
	return err;
}

static int make_picture(struct picture *p, struct buf *b, enum canvas_format format)
{
	p->shades = pages_map_shades(p->model, &p->shade);
	int err = pages_grid_make(&p->grid, p->model, COLUMNS_MAX, ROWS_MAX);
	if (!err)
		err = pages_labels_make(&p->labels, &p->grid, p->view->mappings);
	p->plot = WIDTH - LEFT - (p->labels.count ? NAMES : RIGHT);
	if (!err)
		err = canvas_new(format, WIDTH, HEIGHT, b, &p->canvas);
	if (!err)
		err = draw(p);
	if (!err)
		err = canvas_finish(p->canvas);
	return err;
}

static void picture_done(struct picture *p)
{
	canvas_free(p->canvas);
	pages_labels_done(&p->labels);
	pages_grid_done(&p->grid);
}

int pages_map_png(struct buf *b, const struct pages_view *v)
{
	struct picture p = {.model = v->model, .view = v};
	int err = make_picture(&p, b, CANVAS_PNG);
	picture_done(&p);
	return err;
}

/* Names that one can search for, and that show when the mouse is on a mapping: what is drawn has
 * the shapes of letters alone. */
static void put_tooltips(struct buf *b, const struct picture *p)
{
	for (uint32_t i = 0; i < p->labels.count; i++) {
		const struct pages_label *l = &p->labels.at[i];
		double y = y_of_row(p, l->row + l->rows);
		report_print(b,
			     "<rect x=\"%d\" y=\"%.2f\" width=\"%.0f\" height=\"%.2f\" "
			     "fill-opacity=\"0\"><title>",
			     LEFT, y, p->plot + NAMES - RIGHT, y_of_row(p, l->row) - y);
		xml_put(b, l->name, strlen(l->name));
		report_print(b, ", 0x%" PRIx64 " to 0x%" PRIx64 "</title></rect>\n", l->start,
			     l->end);
	}
}

/* What libcairo wrote, with a title, and as large as the window allows. */
static void put_svg(struct buf *b, const struct picture *p, const char *svg)
{
	const char *width = strstr(svg, " width=\""), *view = strstr(svg, " viewBox=\"");
	const char *begin = view ? strchr(view, '>') : NULL, *end = strstr(svg, "</svg>");
	if (!width || !begin || !end || width > view || view > end) {
		buf_puts(b, svg);
		return;
	}
	buf_put(b, svg, (size_t)(width - svg));
	buf_puts(b, " width=\"100%\" preserveAspectRatio=\"xMidYMin\"");
	buf_put(b, view, (size_t)(begin + 1 - view));
	struct buf title;
	buf_puts(b, "\n<title>");
	if (buf_init_part(&title, b)) {
		pages_put_title(&title, p->view);
		xml_put(b, buf_str(&title), title.len);
		buf_done_part(&title, b);
	}
	buf_puts(b, "</title>");
	buf_put(b, begin + 1, (size_t)(end - begin - 1));
	put_tooltips(b, p);
	buf_puts(b, end);
}

int pages_map_svg(struct buf *b, const struct pages_view *v)
{
	struct picture p = {.model = v->model, .view = v};
	struct buf svg;
	int err = buf_init(&svg, -1, SVG_BYTES);
	if (err)
		return err;
	err = make_picture(&p, &svg, CANVAS_SVG);
	if (!err)
		put_svg(b, &p, buf_str(&svg));
	err = err ? err : svg.err;
	/* A canvas that is not finished writes when it is freed. */
	picture_done(&p);
	buf_done(&svg);
	return err;
}
