/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A drawing: lines, areas, text and grids of coloured cells, as PNG or SVG. Lengths are pixels from
 * the top left corner, colours 0xrrggbb. libcairo draws it. The library is loaded when a drawing is
 * made, as it would double the time that every other run takes to start.
 */
#ifndef BASE_CANVAS_H
#define BASE_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define CANVAS_REASON_BYTES 200

enum canvas_format {
	CANVAS_PNG,
	CANVAS_SVG,
};

/* Where the point of a text is. */
enum canvas_anchor {
	CANVAS_LEFT,
	CANVAS_MIDDLE,
	CANVAS_RIGHT,
};

struct canvas_point {
	double x, y;
};

struct canvas;

/* 0; -ENOPKG: libcairo cannot be loaded, with a line in `reason` (CANVAS_REASON_BYTES). */
int canvas_check(char *reason);
/* Its bytes are written to `out`. 0, -ENOPKG, -ENOMEM. */
int canvas_new(enum canvas_format format, int width, int height, struct buf *out,
	       struct canvas **ret);
/* Writes what has been drawn. 0 or -errno; errors of `out` stay in it. */
int canvas_finish(struct canvas *c);
void canvas_free(struct canvas *c); /* NULL is allowed */

void canvas_fill_rect(struct canvas *c, double x, double y, double w, double h, uint32_t rgb);
/* A closed area of n points. */
void canvas_fill_area(struct canvas *c, const struct canvas_point *at, size_t n, uint32_t rgb);
void canvas_draw_line(struct canvas *c, struct canvas_point from, struct canvas_point to,
		      double width, uint32_t rgb);
/* y is the base line; size: of the font. Sans serif. */
void canvas_draw_text(struct canvas *c, double x, double y, double size, enum canvas_anchor anchor,
		      uint32_t rgb, const char *text);
/* How wide such a text is. */
double canvas_text_width(struct canvas *c, double size, const char *text);
/* columns * rows cells, row after row from the top, as one image in that rectangle; in a PNG a cell
 * that is less than a pixel is averaged with its neighbours. 0 or -ENOMEM. */
int canvas_draw_cells(struct canvas *c, double x, double y, double w, double h,
		      const uint32_t *cell, int columns, int rows);

#endif
