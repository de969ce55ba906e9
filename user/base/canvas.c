/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/canvas.h"

#include <cairo/cairo-svg.h>
#include <cairo/cairo.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libcairo.so.2"

/* The functions of libcairo that are called, by their names without `cairo_`. */
#define FUNCTIONS(F)                     \
	F(image_surface_create)          \
	F(svg_surface_create_for_stream) \
	F(surface_write_to_png_stream)   \
	F(surface_finish)                \
	F(surface_flush)                 \
	F(surface_mark_dirty)            \
	F(surface_destroy)               \
	F(surface_status)                \
	F(image_surface_get_data)        \
	F(image_surface_get_stride)      \
	F(create)                        \
	F(destroy)                       \
	F(status)                        \
	F(save)                          \
	F(restore)                       \
	F(set_source_rgb)                \
	F(set_source_surface)            \
	F(get_source)                    \
	F(pattern_set_filter)            \
	F(paint)                         \
	F(translate)                     \
	F(scale)                         \
	F(rectangle)                     \
	F(clip)                          \
	F(move_to)                       \
	F(line_to)                       \
	F(close_path)                    \
	F(fill)                          \
	F(stroke)                        \
	F(set_line_width)                \
	F(select_font_face)              \
	F(set_font_size)                 \
	F(text_extents)                  \
	F(show_text)

struct functions {
#define F(name) __typeof__(cairo_##name) *name;
	FUNCTIONS(F)
#undef F
};

struct canvas {
	struct functions f;
	void *library;
	enum canvas_format format;
	struct buf *out;
	cairo_surface_t *surface;
	cairo_t *pen;
};

static int load(struct canvas *c)
{
	c->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool whole = c->library;
#define F(name)                                                    \
	if (whole) {                                               \
		void *address = dlsym(c->library, "cairo_" #name); \
		memcpy(&c->f.name, &address, sizeof(address));     \
		whole = address;                                   \
	}
	FUNCTIONS(F)
#undef F
	return whole ? 0 : -ENOPKG;
}

int canvas_check(char *reason)
{
	struct canvas c;
	int err = load(&c);
	if (err)
		snprintf(reason, CANVAS_REASON_BYTES,
			 "pictures need libcairo: apt-get install libcairo2 (%s)", dlerror());
	return err;
}

static cairo_status_t write_bytes(void *ctx, const unsigned char *data, unsigned length)
{
	struct buf *out = ctx;
	buf_put(out, data, length);
	return out->err ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static void set_colour(struct canvas *c, uint32_t rgb)
{
	c->f.set_source_rgb(c->pen, (rgb >> 16 & 0xff) / 255.0, (rgb >> 8 & 0xff) / 255.0,
			    (rgb & 0xff) / 255.0);
}

static int make_surface(struct canvas *c, int width, int height)
{
	c->surface =
		c->format == CANVAS_PNG
			? c->f.image_surface_create(CAIRO_FORMAT_RGB24, width, height)
			: c->f.svg_surface_create_for_stream(write_bytes, c->out, width, height);
	c->pen = c->f.create(c->surface);
	if (c->f.status(c->pen) != CAIRO_STATUS_SUCCESS)
		return -ENOMEM;
	c->f.select_font_face(c->pen, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			      CAIRO_FONT_WEIGHT_NORMAL);
	canvas_fill_rect(c, 0, 0, width, height, 0xffffff);
	return 0;
}

int canvas_new(enum canvas_format format, int width, int height, struct buf *out,
	       struct canvas **ret)
{
	struct canvas *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->format = format;
	c->out = out;
	int err = load(c);
	if (!err)
		err = make_surface(c, width, height);
	if (err) {
		canvas_free(c);
		return err;
	}
	*ret = c;
	return 0;
}

int canvas_finish(struct canvas *c)
{
	cairo_status_t status = c->f.status(c->pen);
	if (status == CAIRO_STATUS_SUCCESS && c->format == CANVAS_PNG)
		status = c->f.surface_write_to_png_stream(c->surface, write_bytes, c->out);
	c->f.surface_finish(c->surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = c->f.surface_status(c->surface);
	if (c->out->err)
		return c->out->err;
	return status == CAIRO_STATUS_SUCCESS ? 0 : -ENOMEM;
}

void canvas_free(struct canvas *c)
{
	if (!c)
		return;
	if (c->pen)
		c->f.destroy(c->pen);
	if (c->surface)
		c->f.surface_destroy(c->surface);
	/* The library stays: what its fonts have registered may run at exit. */
	free(c);
}

void canvas_fill_rect(struct canvas *c, double x, double y, double w, double h, uint32_t rgb)
{
	set_colour(c, rgb);
	c->f.rectangle(c->pen, x, y, w, h);
	c->f.fill(c->pen);
}

void canvas_fill_area(struct canvas *c, const struct canvas_point *at, size_t n, uint32_t rgb)
{
	set_colour(c, rgb);
	for (size_t i = 0; i < n; i++)
		(i ? c->f.line_to : c->f.move_to)(c->pen, at[i].x, at[i].y);
	c->f.close_path(c->pen);
	c->f.fill(c->pen);
}

void canvas_draw_line(struct canvas *c, struct canvas_point from, struct canvas_point to,
		      double width, uint32_t rgb)
{
	set_colour(c, rgb);
	c->f.set_line_width(c->pen, width);
	c->f.move_to(c->pen, from.x, from.y);
	c->f.line_to(c->pen, to.x, to.y);
	c->f.stroke(c->pen);
}

double canvas_text_width(struct canvas *c, double size, const char *text)
{
	cairo_text_extents_t extents;
	c->f.set_font_size(c->pen, size);
	c->f.text_extents(c->pen, text, &extents);
	return extents.x_advance;
}

void canvas_draw_text(struct canvas *c, double x, double y, double size, enum canvas_anchor anchor,
		      uint32_t rgb, const char *text)
{
	double left = anchor == CANVAS_LEFT ? 0 : canvas_text_width(c, size, text);
	set_colour(c, rgb);
	c->f.set_font_size(c->pen, size);
	c->f.move_to(c->pen, x - (anchor == CANVAS_MIDDLE ? left / 2 : left), y);
	c->f.show_text(c->pen, text);
}

int canvas_draw_cells(struct canvas *c, double x, double y, double w, double h,
		      const uint32_t *cell, int columns, int rows)
{
	cairo_surface_t *image = c->f.image_surface_create(CAIRO_FORMAT_RGB24, columns, rows);
	if (c->f.surface_status(image) != CAIRO_STATUS_SUCCESS) {
		c->f.surface_destroy(image);
		return -ENOMEM;
	}
	c->f.surface_flush(image);
	unsigned char *data = c->f.image_surface_get_data(image);
	int stride = c->f.image_surface_get_stride(image);
	for (int row = 0; row < rows; row++)
		memcpy(data + (size_t)row * (size_t)stride, cell + (size_t)row * (size_t)columns,
		       (size_t)columns * sizeof(*cell));
	c->f.surface_mark_dirty(image);
	c->f.save(c->pen);
	c->f.rectangle(c->pen, x, y, w, h);
	c->f.clip(c->pen);
	c->f.translate(c->pen, x, y);
	c->f.scale(c->pen, w / columns, h / rows);
	c->f.set_source_surface(c->pen, image, 0, 0);
	/* Larger cells have sharp edges, smaller ones are averaged. */
	bool larger = columns <= w && rows <= h;
	c->f.pattern_set_filter(c->f.get_source(c->pen),
				larger ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
	c->f.paint(c->pen);
	c->f.restore(c->pen);
	c->f.surface_destroy(image);
	return 0;
}
