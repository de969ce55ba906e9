/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/buf.h"
#include "base/file.h"
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
	if (b->fd >= 0) {
		pass(b, b->data, b->len);
		b->len = 0;
	}
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
		/* The old block is still there: its room stays usable, its bytes are given up. */
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

/* Two digits a step: half the divisions. */
static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
				  "25262728293031323334353637383940414243444546474849"
				  "50515253545556575859606162636465666768697071727374"
				  "75767778798081828384858687888990919293949596979899";

static unsigned digits_of(uint64_t v)
{
	unsigned n = 1;
	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

/* From the last digit on, in place: copying so few bytes would cost more than counting them. */
char *buf_format_u64(char *p, uint64_t v)
{
	char *end = p + digits_of(v), *q = end;
	while (v >= 100) {
		q -= 2;
		memcpy(q, digit_pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10)
		memcpy(q - 2, digit_pairs + 2 * v, 2);
	else
		q[-1] = (char)('0' + v);
	return end;
}

void buf_put_u64(struct buf *b, uint64_t v)
{
	char *p = buf_room(b);
	b->len += (size_t)(buf_format_u64(p, v) - p);
}

void buf_put_i64(struct buf *b, int64_t v)
{
	char *p = buf_room(b), *q = p;
	if (v < 0)
		*q++ = '-';
	/* Negated as unsigned, so that INT64_MIN is no overflow. */
	q = buf_format_u64(q, v < 0 ? -(uint64_t)v : (uint64_t)v);
	b->len += (size_t)(q - p);
}
