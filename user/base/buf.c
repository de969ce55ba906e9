/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/buf.h"
#include "base/file.h"
#include "base/writer.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

int buf_init(struct buf *b, int fd, size_t cap)
{
	if (cap < 2 * BUF_ROOM_MAX)
		cap = 2 * BUF_ROOM_MAX;
	*b = (struct buf){.fd = fd, .data = malloc(cap), .cap = cap};
	return b->data ? 0 : -ENOMEM;
}

int buf_init_behind(struct buf *b, int fd, size_t cap, size_t limit)
{
	int err = buf_init(b, fd, cap);
	if (err)
		return err;
	err = writer_new(fd, limit, &b->writer);
	if (err)
		buf_done(b);
	return err;
}

bool buf_ready(const struct buf *b)
{
	return !b->writer || writer_ready(b->writer);
}

void buf_done(struct buf *b)
{
	writer_free(b->writer);
	free(b->data);
	*b = (struct buf){.fd = -1};
}

static void pass(struct buf *b, const char *data, size_t len)
{
	b->passed += len;
	if (len && !b->err)
		b->err =
			b->writer ? writer_put(b->writer, data, len) : file_write(b->fd, data, len);
}

int buf_flush(struct buf *b)
{
	if (b->fd < 0 || !b->len)
		return b->err;
	if (b->writer && !b->err) {
		b->passed += b->len;
		b->err = writer_swap(b->writer, &b->data, b->cap, b->len);
	} else {
		pass(b, b->data, b->len);
	}
	b->len = 0;
	return b->err;
}

int buf_finish(struct buf *b)
{
	buf_flush(b);
	if (b->writer && !b->err)
		b->err = writer_drain(b->writer);
	return b->err;
}

static void grow(struct buf *b, size_t need)
{
	size_t cap = b->cap;
	while (cap < need)
		cap *= 2;
	char *data = realloc(b->data, cap);
	if (!data) {
		/* The old block is still valid: it stays usable, its bytes are dropped. */
		b->err = b->err ? b->err : -ENOMEM;
		b->len = 0;
		return;
	}
	b->data = data;
	b->cap = cap;
}

void buf_make_room(struct buf *b)
{
	if (b->err)
		b->len = 0;
	else if (b->fd >= 0)
		buf_flush(b);
	else
		grow(b, b->len + BUF_ROOM_MAX);
}

void buf_put(struct buf *b, const void *data, size_t len)
{
	if (b->err)
		return;
	if (len > b->cap - b->len) {
		if (b->fd < 0) {
			grow(b, b->len + len + BUF_ROOM_MAX);
			if (b->err)
				return;
		} else {
			buf_flush(b);
			if (len > b->cap) {
				pass(b, data, len);
				return;
			}
		}
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

const char *buf_str(struct buf *b)
{
	*buf_room(b) = '\0';
	return b->data;
}

#define E8 100000000u /* 10^8 */

/*
 * The eight digits of v < 10^8 as bytes of 0 to 9, the first one lowest: halves, quarters and
 * eighths are divided side by side in one word. The factors are 1 / 100 and 1 / 10, exact in these
 * ranges.
 */
static inline uint64_t eight_digits(uint32_t v)
{
	uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t high = (x * 10486 >> 20) & 0x0000007f0000007f;
	x = high | (x - 100 * high) << 16;
	high = (x * 103 >> 10) & 0x000f000f000f000f;
	return high | (x - 10 * high) << 8;
}

static char *put_digits(char *p, uint64_t digits, unsigned skipped)
{
	uint64_t text = htole64((digits | 0x3030303030303030) >> 8 * skipped);
	memcpy(p, &text, sizeof(text));
	return p + 8 - skipped;
}

char *buf_format_eight(char *p, uint32_t v)
{
	return put_digits(p, eight_digits(v), 0);
}

/* Without the zeros before it; v is not 0. */
static char *put_first(char *p, uint64_t v)
{
	uint64_t digits = eight_digits((uint32_t)v);
	return put_digits(p, digits, (unsigned)__builtin_ctzll(digits) / 8);
}

char *buf_format_long(char *p, uint64_t v)
{
	if (v < E8)
		return put_first(p, v);
	uint64_t high = v / E8, low = v % E8;
	if (high < E8)
		return buf_format_eight(put_first(p, high), (uint32_t)low);
	return buf_format_eight(buf_format_eight(put_first(p, high / E8), (uint32_t)(high % E8)),
				(uint32_t)low);
}

char *buf_format_near(char *p, uint64_t v, struct buf_high *h)
{
	uint64_t high = v / E8;
	if (!high)
		return buf_format_u64(p, v);
	if (h->high != high) {
		h->high = high;
		h->len = (size_t)(buf_format_u64(h->text, high) - h->text);
	}
	memcpy(p, h->text, 16);
	return buf_format_eight(p + h->len, (uint32_t)(v % E8));
}
