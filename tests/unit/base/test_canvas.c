/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawings: their bytes are PNG or SVG, and hold what was drawn. */
#include "base/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "tests/tap.h"

#define SIZE 8

static struct canvas *begin(enum canvas_format format, struct buf *out)
{
	char reason[CANVAS_REASON_BYTES] = "";
	struct canvas *c = NULL;
	if (buf_init(out, -1, 4096))
		abort();
	int err = canvas_check(reason);
	err = err ? err : canvas_new(format, SIZE, SIZE, out, &c);
	ok(!err, "a drawing is made%s", reason);
	if (err)
		exit(1);
	return c;
}

static void end(struct canvas *c)
{
	is(canvas_finish(c), 0, "it is written");
	canvas_free(c);
}

static uint32_t u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int paeth(int left, int up, int corner)
{
	int a = abs(up - corner), b = abs(left - corner), c = abs(left + up - 2 * corner);
	return a <= b && a <= c ? left : b <= c ? up : corner;
}

/* The colours of a PNG that is not interlaced and has 8 bits a channel. */
static bool decode(const struct buf *png, uint32_t *ret)
{
	const uint8_t *p = (const uint8_t *)png->data + 8, *last = p + png->len - 8;
	uint8_t packed[4096], raw[SIZE * (1 + SIZE * 4)];
	size_t n = 0, channels = 0;
	for (; p + 12 <= last; p += 12 + u32(p)) {
		if (!memcmp(p + 4, "IHDR", 4))
			channels = p[17] == 6 ? 4 : p[17] == 2 ? 3 : 0;
		if (!memcmp(p + 4, "IDAT", 4) && n + u32(p) <= sizeof(packed)) {
			memcpy(packed + n, p + 8, u32(p));
			n += u32(p);
		}
	}
	uLongf bytes = sizeof(raw);
	size_t row_bytes = SIZE * channels;
	if (!channels || uncompress(raw, &bytes, packed, n) != Z_OK ||
	    bytes != SIZE * (1 + row_bytes))
		return false;
	for (size_t y = 0; y < SIZE; y++) {
		uint8_t *row = raw + y * (1 + row_bytes), filter = *row++;
		for (size_t i = 0; i < row_bytes; i++) {
			const uint8_t *above = y ? row + i - 1 - row_bytes : NULL;
			int left = i < channels ? 0 : row[i - channels], up = above ? *above : 0;
			int corner = above && i >= channels ? above[-(ptrdiff_t)channels] : 0;
			int add[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
			row[i] = (uint8_t)(row[i] + (filter < 5 ? add[filter] : 0));
		}
		for (size_t x = 0; x < SIZE; x++)
			ret[y * SIZE + x] = (uint32_t)row[x * channels] << 16 |
					    (uint32_t)row[x * channels + 1] << 8 |
					    row[x * channels + 2];
	}
	return true;
}

static void test_png(void)
{
	struct buf out;
	uint32_t pixel[SIZE * SIZE];
	struct canvas *c = begin(CANVAS_PNG, &out);
	canvas_fill_rect(c, 0, 0, 4, 4, 0x123456);
	const uint32_t cell[4] = {0xff0000, 0x00ff00, 0x0000ff, 0x000000};
	is(canvas_draw_cells(c, 4, 4, 4, 4, cell, 2, 2), 0, "cells are drawn");
	end(c);
	ok(out.len > 8 && !memcmp(out.data, "\x89PNG\r\n\x1a\n", 8), "a PNG");
	ok(decode(&out, pixel), "its pixels are read");
	is(pixel[0], 0x123456, "a rectangle has its colour");
	is(pixel[3 * SIZE + 3], 0x123456, "up to its edge");
	is(pixel[7], 0xffffff, "where nothing is drawn it is white");
	is(pixel[4 * SIZE + 4], 0xff0000, "the first cell is top left");
	is(pixel[5 * SIZE + 7], 0x00ff00, "the next one to the right, with sharp edges");
	is(pixel[6 * SIZE + 5], 0x0000ff, "the second row is below");
	buf_done(&out);
}

static void test_svg(void)
{
	struct buf out;
	struct canvas *c = begin(CANVAS_SVG, &out);
	const struct canvas_point area[] = {{0, 0}, {8, 0}, {0, 8}};
	canvas_fill_area(c, area, 3, 0xff0000);
	canvas_draw_line(c, area[0], area[1], 1, 0x0000ff);
	canvas_draw_text(c, 4, 4, 3, CANVAS_MIDDLE, 0, "text");
	end(c);
	const char *text = buf_str(&out);
	ok(strstr(text, "<svg") && strstr(text, "</svg>"), "an SVG");
	ok(strstr(text, "rgb(100%") != NULL, "with the colour of an area");
	buf_done(&out);
}

/* What cannot be written is an error of the output. */
static void test_full(void)
{
	struct buf out;
	struct canvas *c = begin(CANVAS_PNG, &out);
	out.err = -ENOSPC;
	is(canvas_finish(c), -ENOSPC, "an error of the output is returned");
	canvas_free(c);
	buf_done(&out);
}

int main(void)
{
	test_png();
	test_svg();
	test_full();
	tap_keeps_mapped(1); /* a library's cache of fonts */
	return tap_done();
}
