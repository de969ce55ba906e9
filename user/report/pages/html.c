/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of a heap as one page of HTML, with its script and its data inside. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compress.h"
#include "base/embed.h"
#include "base/json.h"
#include "base/xml.h"
#include "report/pages/format.h"
#include "report/pages/grid.h"
#include "report/pages/labels.h"
#include "report/pages/map.h"

#define COLUMNS_MAX PAGES_TIMELINE_POINTS
#define ROWS_MAX    4096

EMBED(pages_style, "user/report/pages/pages.css");
EMBED(pages_script, "user/report/pages/pages.js");

static void put_base64(struct buf *b, const uint8_t *data, size_t len)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)data[i] << 16 | (have > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
			     (have > 2 ? data[i + 2] : 0);
		char text[4] = {digit[v >> 18], digit[v >> 12 & 63], digit[v >> 6 & 63],
				digit[v & 63]};
		if (have < 3)
			text[3] = '=';
		if (have < 2)
			text[2] = '=';
		buf_put(b, text, 4);
	}
}

/* The cells, compressed: all shares of the first shade, then of the second … */
static int put_cells(struct buf *b, const struct pages_model *m, const struct pages_grid *g)
{
	struct buf plane, packed;
	const struct pages_map_shade *s;
	unsigned shades = pages_map_shades(m, &s);
	size_t n = (size_t)g->columns * g->rows;
	if (buf_init(&plane, -1, shades * n + BUF_ROOM_MAX))
		return -ENOMEM;
	if (buf_init(&packed, -1, BUF_ROOM_MAX)) {
		buf_done(&plane);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < shades; i++)
		for (size_t k = 0; k < n; k++)
			buf_put(&plane, &g->cell[k].share[s[i].shade], 1);
	int err = plane.err ? plane.err : compress_gzip(&packed, plane.data, plane.len);
	if (!err)
		put_base64(b, (const uint8_t *)packed.data, packed.len);
	buf_done(&plane);
	buf_done(&packed);
	return err;
}

static void put_points(struct json *j, const struct pages_model *m)
{
	const struct pages_timeline *t = m->timeline;
	const struct pages_map_shade *s;
	unsigned shades = pages_map_shades(m, &s);
	json_key_open(j, "totals", '[');
	for (uint32_t i = 0; i < t->count; i++) {
		json_open(j, '[');
		for (unsigned k = 0; k < shades; k++)
			json_u64(j, pages_shade_count(t->point[i].count, s[k].shade));
		json_close(j, ']');
	}
	json_close(j, ']');
}

static void put_regions(struct json *j, const struct pages_grid *g)
{
	json_key_open(j, "regions", '[');
	for (uint32_t i = 0; i < g->regions; i++) {
		char text[32];
		snprintf(text, sizeof(text), "0x%" PRIx64, g->region[i].addr);
		json_open(j, '{');
		json_key_str(j, "addr", text);
		json_key_u64(j, "row", g->region[i].row);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_labels(struct json *j, const struct pages_labels *l)
{
	json_key_open(j, "mappings", '[');
	for (uint32_t i = 0; i < l->count; i++) {
		json_open(j, '{');
		json_key_str(j, "name", l->at[i].name);
		json_key_u64(j, "row", l->at[i].row);
		json_key_u64(j, "rows", l->at[i].rows);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_facts(struct json *j, const struct pages_model *m, const struct pages_grid *g,
		      const struct pages_labels *l)
{
	const struct pages_map_shade *s;
	unsigned shades = pages_map_shades(m, &s);
	json_open(j, '{');
	json_key_u64(j, "columns", g->columns);
	json_key_u64(j, "rows", g->rows);
	json_key_u64(j, "ns", (uint64_t)g->ns);
	json_key_u64(j, "row_bytes", g->row_bytes);
	json_key_u64(j, "page_bytes", 1u << m->heap.page_shift);
	json_key_u64(j, "peak", m->peak);
	json_key_open(j, "colours", '[');
	for (unsigned i = 0; i < shades; i++)
		json_u64(j, s[i].rgb);
	json_close(j, ']');
	json_key_open(j, "names", '[');
	for (unsigned i = 0; i < shades; i++)
		json_string(j, s[i].name, strlen(s[i].name));
	json_close(j, ']');
	json_key_u64(j, "late_ns", m->causes.late_ns);
	put_regions(j, g);
	put_labels(j, l);
	put_points(j, m);
	json_close(j, '}');
}

static void put_embedded(struct buf *b, const char *tag, const char *from, const char *to)
{
	buf_puts(b, "<");
	buf_puts(b, tag);
	buf_puts(b, ">\n");
	buf_put(b, from, (size_t)(to - from));
	buf_puts(b, "</");
	buf_puts(b, tag);
	buf_puts(b, ">\n");
}

/* Within a script nothing that looks like a tag: names are foreign. 0 or -ENOMEM. */
static int put_script_facts(struct buf *b, const struct pages_model *m, const struct pages_grid *g,
			    const struct pages_labels *l)
{
	struct buf facts;
	if (buf_init(&facts, -1, BUF_ROOM_MAX))
		return -ENOMEM;
	struct json j = {.out = &facts};
	put_facts(&j, m, g, l);
	const char *at = buf_str(&facts);
	for (size_t n; n = strcspn(at, "<"), at[n]; at += n + 1) {
		buf_put(b, at, n);
		buf_puts(b, "\\u003c");
	}
	buf_puts(b, at);
	int err = facts.err;
	buf_done(&facts);
	return err;
}

static void put_head(struct buf *b, const struct pages_view *v)
{
	struct buf title;
	if (!buf_init_part(&title, b))
		return;
	pages_put_title(&title, v);
	buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
	xml_put(b, buf_str(&title), title.len);
	buf_puts(b, "</title>\n");
	put_embedded(b, "style", pages_style, pages_style_end);
	buf_puts(b, "<header><h1>");
	xml_put(b, buf_str(&title), title.len);
	buf_puts(b, "</h1><p id=\"begin\">");
	pages_put_begin(b, v);
	buf_puts(b, "</p><p id=\"info\"></p>"
		    "<p id=\"legend\"></p><button id=\"reset\">Show all</button></header>\n"
		    "<canvas id=\"map\" tabindex=\"0\"></canvas>\n"
		    "<script type=\"application/json\" id=\"facts\">");
	buf_done_part(&title, b);
}

int pages_map_html(struct buf *b, const struct pages_view *v)
{
	struct pages_grid g;
	struct pages_labels l = {0};
	int err = pages_grid_make(&g, v->model, COLUMNS_MAX, ROWS_MAX);
	if (!err)
		err = pages_labels_make(&l, &g, v->mappings);
	if (!err) {
		put_head(b, v);
		err = put_script_facts(b, v->model, &g, &l);
		buf_puts(b, "</script>\n<script type=\"application/octet-stream\" id=\"cells\">");
	}
	if (!err)
		err = put_cells(b, v->model, &g);
	buf_puts(b, "</script>\n");
	put_embedded(b, "script", pages_script, pages_script_end);
	buf_puts(b, "</html>\n");
	pages_labels_done(&l);
	pages_grid_done(&g);
	return err;
}
