/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame: a screen full of cells, each a character of one column with a style. It knows no
 * terminal: cmd/screen.c shows it on one, and top_frame_text() writes it as lines. Texts of traced
 * programs are escaped: what could control a terminal, and what has not exactly one column, is a
 * question mark.
 */
#ifndef REPORT_TOP_FRAME_H
#define REPORT_TOP_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum top_style {
	TOP_PLAIN,
	TOP_STRONG,   /* headings */
	TOP_HEAD,     /* the line of column names, and of keys */
	TOP_SORTED,   /* the name of the column that rows are sorted by */
	TOP_SELECTED, /* the selected row */
	TOP_FAINT,    /* what has ended, or is not known */
	TOP_GOOD,     /* colours: bars */
	TOP_WARN,
	TOP_BAD,
	TOP_STYLES
};

struct top_cell {
	uint32_t code; /* Unicode; 0: a blank */
	uint8_t style;
};

/* Zeroed memory, with utf8 set: of no size. */
struct top_frame {
	struct top_cell *cell; /* rows * cols, line by line */
	uint32_t cap;
	unsigned rows, cols;
	bool utf8;		    /* the terminal has characters beyond ASCII */
	int cursor_row, cursor_col; /* of a prompt; -1: none */
};

#define TOP_ROWS_MAX 65536u
#define TOP_COLS_MAX 1024u

/* Makes it empty, of a size. 0 or -ENOMEM. */
int top_frame_begin(struct top_frame *f, unsigned rows, unsigned cols);
void top_frame_done(struct top_frame *f);
/* Writes a text from a column on, at most `width` columns of it. Returns the column behind it. */
unsigned top_frame_put(struct top_frame *f, unsigned row, unsigned col, unsigned width,
		       enum top_style style, const char *text);
/* The same of a format, at most 255 bytes, to the end of the line. */
unsigned top_frame_print(struct top_frame *f, unsigned row, unsigned col, enum top_style style,
			 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Right-aligned in `width` columns. */
void top_frame_right(struct top_frame *f, unsigned row, unsigned col, unsigned width,
		     enum top_style style, const char *text);
/* Gives all cells of a line, from a column on, a style. */
void top_frame_style(struct top_frame *f, unsigned row, unsigned col, unsigned width,
		     enum top_style style);
/* A bar of a share, 0 to 100, in `width` columns. */
void top_frame_bar(struct top_frame *f, unsigned row, unsigned col, unsigned width, double percent);
/* One character of eight heights for a value of at most `most`; negative: a blank. */
uint32_t top_frame_height(const struct top_frame *f, float value, float most);
/* One character; of `ascii` where the terminal has no other. */
void top_frame_char(struct top_frame *f, unsigned row, unsigned col, enum top_style style,
		    uint32_t code, char ascii);
/* The lines, without blanks at their ends and without empty lines at the end. */
void top_frame_text(const struct top_frame *f, struct buf *b);

struct top_text {
	char text[24];
};
/* In 6 columns: "999ns", "1.23ms", "12.3s"; in 6: "12.3M"; in 6: a number. */
struct top_text top_text_ns(double ns);
struct top_text top_text_bytes(double bytes);
struct top_text top_text_count(double v);

#endif
