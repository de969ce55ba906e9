/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/frame.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

int top_frame_begin(struct top_frame *f, unsigned rows, unsigned cols)
{
	rows = rows < TOP_ROWS_MAX ? rows : TOP_ROWS_MAX;
	cols = cols < TOP_COLS_MAX ? cols : TOP_COLS_MAX;
	f->rows = f->cols = 0;
	if (rows && cols && !array_reserve(f->cell, f->cap, rows * cols - 1))
		return -ENOMEM;
	f->rows = rows;
	f->cols = cols;
	f->cursor_row = f->cursor_col = -1;
	if (rows && cols)
		memset(f->cell, 0, rows * cols * sizeof(*f->cell));
	return 0;
}

void top_frame_done(struct top_frame *f)
{
	free(f->cell);
	*f = (struct top_frame){0};
}

static struct top_cell *cell_at(struct top_frame *f, unsigned row, unsigned col)
{
	return row < f->rows && col < f->cols ? &f->cell[row * f->cols + col] : NULL;
}

/* Characters of one column in every terminal: Latin, Greek, Cyrillic, and what we draw with. */
static bool has_one_column(uint32_t code)
{
	return (code >= 0x20 && code < 0x7f) || (code >= 0xa1 && code < 0x300 && code != 0xad) ||
	       (code >= 0x370 && code < 0x483) || (code >= 0x48a && code < 0x530) ||
	       (code >= 0x1e00 && code < 0x1f00) || (code >= 0x2500 && code < 0x25a0) ||
	       code == 0x2026;
}

/* The character at *at, which moves behind it. */
static uint32_t next_char(const char **at, bool utf8)
{
	const unsigned char *s = (const unsigned char *)*at;
	size_t n = utf8_length(s, strnlen(*at, 4));
	*at += n ? n : 1;
	uint32_t code = n == 1 ? s[0] : n ? s[0] & (0x7fu >> n) : 0;
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (s[i] & 0x3fu);
	return has_one_column(code) && (utf8 || code < 0x7f) ? code : '?';
}

unsigned top_frame_put(struct top_frame *f, unsigned row, unsigned col, unsigned width,
		       enum top_style style, const char *text)
{
	unsigned end = width < f->cols && col < f->cols - width ? col + width : f->cols;
	for (; *text && col < end; col++) {
		struct top_cell *c = cell_at(f, row, col);
		uint32_t code = next_char(&text, f->utf8);
		if (c)
			*c = (struct top_cell){code, (uint8_t)style};
	}
	return col;
}

unsigned top_frame_print(struct top_frame *f, unsigned row, unsigned col, enum top_style style,
			 const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return top_frame_put(f, row, col, f->cols, style, text);
}

void top_frame_right(struct top_frame *f, unsigned row, unsigned col, unsigned width,
		     enum top_style style, const char *text)
{
	size_t len = strlen(text);
	unsigned pad = len < width ? width - (unsigned)len : 0;
	top_frame_put(f, row, col + pad, width - pad, style, text);
}

void top_frame_style(struct top_frame *f, unsigned row, unsigned col, unsigned width,
		     enum top_style style)
{
	struct top_cell *c;
	for (unsigned i = 0; i < width && (c = cell_at(f, row, col + i)); i++)
		c->style = (uint8_t)style;
}

void top_frame_char(struct top_frame *f, unsigned row, unsigned col, enum top_style style,
		    uint32_t code, char ascii)
{
	struct top_cell *c = cell_at(f, row, col);
	if (c)
		*c = (struct top_cell){f->utf8 ? code : (uint32_t)(unsigned char)ascii,
				       (uint8_t)style};
}

void top_frame_bar(struct top_frame *f, unsigned row, unsigned col, unsigned width, double percent)
{
	enum top_style style = percent >= 50 ? TOP_BAD : percent >= 10 ? TOP_WARN : TOP_GOOD;
	unsigned full = percent > 0 ? (unsigned)(percent * width / 100 + 0.5) : 0;
	for (unsigned i = 0; i < width && i < full; i++)
		top_frame_char(f, row, col + i, style, 0x2588, '|');
}

uint32_t top_frame_height(const struct top_frame *f, float value, float most)
{
	static const char ascii[] = "_.-:=+*#";
	if (!(value >= 0))
		return ' ';
	unsigned level = most > 0 && value > 0 ? (unsigned)(value / most * 7 + 0.5f) : 0;
	level = level < 7 ? level : 7;
	return f->utf8 ? 0x2581 + level : (uint32_t)(unsigned char)ascii[level];
}

static void put_code(struct buf *b, uint32_t code)
{
	char c[4];
	size_t n = 0;
	if (code < 0x80) {
		c[n++] = (char)code;
	} else if (code < 0x800) {
		c[n++] = (char)(0xc0 | code >> 6);
		c[n++] = (char)(0x80 | (code & 0x3f));
	} else {
		c[n++] = (char)(0xe0 | code >> 12);
		c[n++] = (char)(0x80 | (code >> 6 & 0x3f));
		c[n++] = (char)(0x80 | (code & 0x3f));
	}
	buf_put(b, c, n);
}

static unsigned used(const struct top_frame *f, unsigned row)
{
	unsigned n = f->cols;
	const struct top_cell *line = &f->cell[row * f->cols];
	while (n && (!line[n - 1].code || line[n - 1].code == ' '))
		n--;
	return n;
}

void top_frame_text(const struct top_frame *f, struct buf *b)
{
	unsigned rows = f->rows;
	while (rows && !used(f, rows - 1))
		rows--;
	for (unsigned row = 0; row < rows; row++) {
		const struct top_cell *line = &f->cell[row * f->cols];
		unsigned n = used(f, row);
		for (unsigned i = 0; i < n; i++)
			put_code(b, line[i].code ? line[i].code : ' ');
		buf_puts(b, "\n");
	}
}

/* Three digits, with a unit of `step`. */
static struct top_text three_digits(double v, double step, const char *const *units)
{
	struct top_text t;
	unsigned u = 0;
	for (; units[u + 1] && v >= 999.5; u++)
		v /= step;
	int digits = !u || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
	snprintf(t.text, sizeof(t.text), "%.*f%s", digits, v, units[u]);
	return t;
}

struct top_text top_text_ns(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};
	return three_digits(ns, 1000, units);
}

struct top_text top_text_bytes(double bytes)
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P", NULL};
	return three_digits(bytes, 1024, units);
}

struct top_text top_text_count(double v)
{
	static const char *const units[] = {"", "k", "M", "G", "T", NULL};
	struct top_text t;
	if (v >= 99999.5)
		return three_digits(v, 1000, units);
	snprintf(t.text, sizeof(t.text), "%.0f", v);
	return t;
}
