/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the pictures have in common: an SVG document with its style and script inside, which refers
 * to no other file. Lengths are pixels. A picture has a panel on top with a title, lines of text
 * and one line that its script fills; without a script it is still a picture.
 *
 * base/canvas.h draws SVG, too, but without element names and styles, which the scripts that zoom
 * and search need.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/buf.h"

#define SVG_WIDTH  1200
#define SVG_MARGIN 12 /* left and right of the picture */

struct svg {
	const char *title;
	const char *lines; /* below the title, each ends with a newline */
	const char *style, *style_end, *script, *script_end;
	int height;	     /* of all, with svg_panel_height() */
	const char *unit;    /* of what the script shows: "bytes" */
	double total, level; /* what the whole picture is in that unit; the height of a row */
	bool has_search;
	bool is_scaled; /* to the window, as a whole; else by the script, or not at all */
};

void svg_print(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Foreign text, escaped. */
void svg_put_text(struct buf *b, const char *text);
int svg_panel_height(const char *lines);
/* Opens the document. The caller writes the picture, below the panel's height. */
void svg_open(struct buf *b, const struct svg *s);
/* Writes the panel, above all else, and closes the document. */
void svg_close(struct buf *b, const struct svg *s);

#endif
