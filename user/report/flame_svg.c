/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/flame_svg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/xml.h"
#include "report/svg.h"
#include "session/code_language.h"

EMBED(flame_style, "user/report/flame.css");
EMBED(flame_script, "user/report/flame.js");

#define LEVEL	    18	 /* the height of a frame and the gap below it */
#define LETTER	    6.63 /* the width of a letter in a frame */
#define TEXT_MARGIN 6
#define LETTERS_MIN 3
#define COLOURS	    24
#define NOTE_HEIGHT 28
#define NAME_BYTES  1000 /* of a name in a tooltip */
#define BODY_BYTES  (256u << 10)
#define FLAME_ALL   "all programs"

/* A node with children that are being drawn. */
struct open {
	uint32_t child; /* the next one to draw */
	uint32_t more;	/* children that are not drawn */
	uint64_t more_value;
	double x; /* where the next child begins, of the whole picture's unit */
};

struct drawing {
	const struct flame_svg *f;
	const struct flame_part *part;
	struct buf *b;
	double whole, least; /* nodes must be wider to be drawn */
	int first_level;     /* of the parts' roots */
	uint32_t drawn, all, levels;
	struct open open[FLAME_LEVELS];
};

static double width_of(const struct flame_part *p, uint64_t value)
{
	return (double)value * p->unit;
}

static int wider_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x > y ? -1 : x < y;
}

/* Sets the whole and the least width, so that few enough nodes are wider. */
static int measure(struct drawing *d)
{
	const struct flame_svg *f = d->f;
	for (size_t i = 0; i < f->parts; i++)
		d->whole += width_of(&f->part[i], f->tree->node[f->part[i].root].total);
	d->least = d->whole * FLAME_SHARE_MIN;
	double *width = malloc(f->tree->nodes * sizeof(*width));
	size_t n = 0;
	if (!width)
		return -ENOMEM;
	for (size_t i = 0; i < f->parts; i++)
		for (uint32_t at = f->part[i].root; at;
		     at = frame_tree_next(f->tree, f->part[i].root, at)) {
			double w = width_of(&f->part[i], f->tree->node[at].total);
			d->all++;
			if (w > d->least)
				width[n++] = w;
		}
	if (n > FLAME_FRAMES) {
		qsort(width, n, sizeof(*width), wider_first);
		d->least = width[FLAME_FRAMES];
	}
	free(width);
	return 0;
}

static double to_pixels(const struct drawing *d, double width)
{
	return d->whole > 0 ? width / d->whole * (SVG_WIDTH - 2 * SVG_MARGIN) : 0;
}

/* FNV-1a: the colours are the same in every run. */
static uint32_t hash_of(const char *s, size_t len)
{
	uint32_t hash = 2166136261u;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)s[i]) * 16777619u;
	return hash ^ hash >> 15;
}

/* Functions of one module have one colour: what is before the first "." or "::" of a name, else the
 * file, else the name, which is a module's own where functions are named by modules. */
static unsigned colour_of(const struct drawing *d, const struct frame_tree_node *n,
			  const char *name)
{
	size_t len = strcspn(name, ".:");
	const char *file = strings_text(d->f->tree->strings, n->file);
	if (!name[len] && file && !code_language_is_near(file)) {
		name = file;
		len = strlen(file);
	}
	return hash_of(name, len) % COLOURS;
}

/* The longest beginning of at most `letters` letters; *ret_cut: that is not all. */
static size_t cut(const char *name, size_t letters, bool *ret_cut)
{
	size_t at = 0;
	for (; name[at]; at++)
		if ((name[at] & 0xc0) != 0x80 && !letters--)
			break;
	*ret_cut = name[at];
	return at;
}

/* What of a name fits into a frame. */
static void put_label(struct buf *b, const char *name, double pixels)
{
	double fit = (pixels - TEXT_MARGIN) / LETTER;
	char text[SVG_WIDTH];
	bool is_cut;
	if (fit < LETTERS_MIN)
		return;
	size_t len = cut(name, (size_t)fit, &is_cut);
	if (is_cut)
		len = cut(name, (size_t)fit - 1, &is_cut);
	len = len < sizeof(text) ? len : sizeof(text) - 1;
	memcpy(text, name, len);
	text[len] = 0;
	svg_put_text(b, text);
	if (is_cut)
		buf_puts(b, "\u2026");
}

/* Begins a frame with its tooltip's first line. */
static void open_frame(struct buf *b, const char *kind, unsigned colour, const char *name)
{
	svg_print(b, "<g class=\"f %s%u\"><title>", kind, colour);
	xml_put(b, name, strnlen(name, NAME_BYTES));
	buf_puts(b, "\n");
}

static void close_frame(struct drawing *d, const char *name, double x, double width, uint32_t level)
{
	double pixels = to_pixels(d, width), left = to_pixels(d, x);
	int y = (int)(level + (uint32_t)d->first_level) * LEVEL;
	svg_print(d->b,
		  "</title><rect x=\"%.4f\" y=\"%d\" width=\"%.4f\" height=\"%d\"/>"
		  "<text x=\"%.2f\" y=\"%d\">",
		  left, y, pixels, LEVEL - 1, left + TEXT_MARGIN / 2.0, y + LEVEL - 5);
	put_label(d->b, name, pixels);
	buf_puts(d->b, "</text></g>\n");
	if (d->levels <= level + (uint32_t)d->first_level)
		d->levels = level + (uint32_t)d->first_level + 1;
}

static void put_amount(struct drawing *d, const char *what, uint64_t value)
{
	double share = d->whole > 0 ? 100 * width_of(d->part, value) / d->whole : 0;
	svg_print(d->b, "%s%.2f %%: ", what, share);
	d->f->put_value(d->f->ctx, (size_t)(d->part - d->f->part), value, d->b);
}

static void put_amounts(struct drawing *d, const struct frame_tree_node *n)
{
	put_amount(d, "", n->total);
	if (n->self && n->self != n->total)
		put_amount(d, "\nitself ", n->self);
}

static void put_position(struct drawing *d, const struct frame_tree_node *n)
{
	const char *file = strings_text(d->f->tree->strings, n->file);
	if (!file)
		return;
	buf_puts(d->b, "at ");
	xml_put(d->b, file, strnlen(file, NAME_BYTES));
	if (n->has_line)
		svg_print(d->b, ":%u", n->line);
	buf_puts(d->b, n->more_positions ? " and other lines\n" : "\n");
}

static void put_node(struct drawing *d, uint32_t node, double x, uint32_t level)
{
	const struct frame_tree_node *n = &d->f->tree->node[node];
	const char *name = level ? frame_tree_name(d->f->tree, node) : d->part->name;
	/* Half of a module's functions are lighter. */
	const char *kind = !level ? "root r" : hash_of(name, strlen(name)) & 256 ? "v c" : "c";
	unsigned colour = 0;
	if (level && d->f->colour)
		kind = d->f->colour(d->f->ctx, node, &colour) ? "c" : "root r";
	else if (level)
		colour = colour_of(d, n, name);
	open_frame(d->b, kind, colour, name);
	put_position(d, n);
	if (d->f->put_node)
		d->f->put_node(d->f->ctx, node, d->b);
	else
		put_amounts(d, n);
	close_frame(d, name, x, width_of(d->part, n->total), level);
	d->drawn++;
}

/* One frame for the children that are not drawn, if they are wide enough together. */
static void put_more(struct drawing *d, const struct open *o, uint32_t level)
{
	char name[64];
	double width = width_of(d->part, o->more_value);
	if (width <= d->least)
		return;
	snprintf(name, sizeof(name), "(%u more)", o->more);
	open_frame(d->b, "rest r", 0, name);
	put_amount(d, "", o->more_value);
	close_frame(d, name, o->x, width, level);
}

static void put_part(struct drawing *d, const struct flame_part *p, double x)
{
	const struct frame_tree_node *node = d->f->tree->node;
	uint32_t depth = 1;
	d->part = p;
	d->open[0] = (struct open){.child = node[p->root].child, .x = x};
	put_node(d, p->root, x, 0);
	while (depth) {
		struct open *o = &d->open[depth - 1];
		uint32_t child = o->child;
		if (!child) {
			if (o->more)
				put_more(d, o, depth);
			depth--;
			continue;
		}
		o->child = node[child].next;
		double width = width_of(p, node[child].total);
		if (width <= d->least || depth == FLAME_LEVELS) {
			o->more++;
			o->more_value += node[child].total;
			continue;
		}
		put_node(d, child, o->x, depth);
		d->open[depth++] = (struct open){.child = node[child].child, .x = o->x};
		o->x += width;
	}
}

static void put_parts(struct drawing *d)
{
	double x = 0;
	if (d->f->parts > 1) {
		open_frame(d->b, "root r", 0, FLAME_ALL);
		buf_puts(d->b, "100 %");
		close_frame(d, FLAME_ALL, 0, d->whole, 0);
		d->first_level = 1;
	}
	for (size_t i = 0; i < d->f->parts && d->whole > 0; i++) {
		put_part(d, &d->f->part[i], x);
		x += width_of(d->part, d->f->tree->node[d->part->root].total);
	}
}

static void put_note(const struct drawing *d, int y)
{
	svg_print(d->b, "<text class=\"note\" x=\"0\" y=\"%d\">", y + NOTE_HEIGHT - 10);
	svg_put_text(d->b, d->f->legend);
	if (d->drawn < d->all)
		svg_print(d->b,
			  " %u of %u frames are drawn: the others are narrower than %.2g %% "
			  "of all, or deeper than %d levels.",
			  d->drawn, d->all, 100 * d->least / d->whole, FLAME_LEVELS);
	buf_puts(d->b, "</text>\n");
}

int flame_svg_put(struct buf *b, const struct flame_svg *f)
{
	struct drawing *d = calloc(1, sizeof(*d));
	struct buf body;
	int err = d ? buf_init(&body, -1, BODY_BYTES) : -ENOMEM;
	if (err) {
		free(d);
		return err;
	}
	*d = (struct drawing){.f = f, .b = &body};
	err = measure(d);
	if (!err) {
		put_parts(d);
		put_note(d, (int)d->levels * LEVEL);
		err = body.err;
	}
	if (!err) {
		int panel = svg_panel_height(f->lines);
		struct svg s = {
			.title = f->title,
			.lines = f->lines,
			.style = flame_style,
			.style_end = flame_style_end,
			.script = flame_script,
			.script_end = flame_script_end,
			.height = panel + (int)d->levels * LEVEL + NOTE_HEIGHT,
			.unit = f->unit,
			.total = d->whole,
			.level = LEVEL,
			.has_search = true,
		};
		svg_open(b, &s);
		svg_print(b, "<g transform=\"translate(%d,%d)\">\n", SVG_MARGIN, panel);
		buf_put(b, body.data, body.len);
		buf_puts(b, "</g>\n");
		svg_close(b, &s);
	}
	buf_done(&body);
	free(d);
	return err;
}
