/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/buf.h"
#include "base/array.h"
#include "base/file.h"
#include "base/utf8.h"
#include "base/writer.h"

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
	if (err || fd < 0)
		return err;
	err = writer_new(fd, limit, &b->writer);
	if (err)
		buf_done(b);
	return err;
}

void buf_keep_error(struct buf *b, int err)
{
	b->err = b->err ? b->err : err;
}

bool buf_init_part(struct buf *b, struct buf *whole)
{
	int err = buf_init(b, -1, BUF_ROOM_MAX);
	buf_keep_error(whole, err);
	return !err;
}

void buf_done_part(struct buf *b, struct buf *whole)
{
	buf_keep_error(whole, b->err);
	buf_done(b);
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

uint64_t buf_given_up(const struct buf *b)
{
	return b->writer ? writer_given_up(b->writer) : 0;
}

static void grow(struct buf *b, size_t need)
{
	if (array_reserve(b->data, b->cap, need - 1))
		return;
	/* The old block is still valid: it stays usable, its bytes are dropped. */
	buf_keep_error(b, -ENOMEM);
	b->len = 0;
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

void buf_put_plain(struct buf *b, const char *s)
{
	size_t left = strlen(s);
	while (left) {
		size_t n = utf8_plain(s, left);
		buf_put(b, s, n);
		if (n == left)
			return;
		buf_puts(b, "?");
		s += n + 1;
		left -= n + 1;
	}
}

const char *buf_str(struct buf *b)
{
	*buf_room(b) = '\0';
	return b->data;
}

/* Without the zeros before it; 0 < v < 10^8. */
static char *put_first(char *p, uint64_t v)
{
	uint64_t digits = buf_digits((uint32_t)v);
	unsigned skipped = (unsigned)__builtin_ctzll(digits) / 8;
	digits = htole64((digits | 0x3030303030303030) >> 8 * skipped);
	memcpy(p, &digits, sizeof(digits));
	return p + 8 - skipped;
}

char *buf_format_long(char *p, uint64_t v)
{
	if (v < BUF_E8)
		return put_first(p, v);
	uint64_t high = v / BUF_E8;
	uint32_t low = (uint32_t)(v % BUF_E8);
	if (high < BUF_E8)
		return buf_format_eight(put_first(p, high), low);
	p = buf_format_eight(put_first(p, high / BUF_E8), (uint32_t)(high % BUF_E8));
	return buf_format_eight(p, low);
}

void buf_set_high(struct buf_high *h, uint64_t high)
{
	h->high = high;
	h->len = (size_t)(buf_format_u64(h->text, high) - h->text);
}
