/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A byte buffer: grows in memory, or empties itself into a descriptor when it is full, at once or
 * through a thread that writes (writer.h). The first
 * error stays inside, later bytes are then thrown away, and whoever writes need not look before the
 * end. It does not close the descriptor.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What buf_room() can promise at once. */
#define BUF_ROOM_MAX 1024

struct buf {
	char *data;
	size_t len, cap;
	int fd;		       /* -1: memory only */
	struct writer *writer; /* NULL: write to fd at once */
	int err;	       /* 0 or the first -errno */
	uint64_t passed;       /* bytes that have gone to the descriptor */
};

/* fd -1: grows for ever. `cap` is the size to start with, or to write at once. 0 or -ENOMEM. */
int buf_init(struct buf *b, int fd, size_t cap);
/* The same with a thread that writes; at most about `limit` bytes wait for it. 0 or -errno. */
int buf_init_behind(struct buf *b, int fd, size_t cap, size_t limit);
void buf_done(struct buf *b);
/* False while a thread has much to write: putting more may wait. */
bool buf_ready(const struct buf *b);
void buf_put(struct buf *b, const void *data, size_t len);
/* Writes what is held to the descriptor, or gives it to the thread. 0 or the first error. */
int buf_flush(struct buf *b);
/* The same, and waits until it is written. */
int buf_finish(struct buf *b);
/* Memory only: a NUL behind the bytes, which it does not count. Never NULL. */
const char *buf_str(struct buf *b);
/* The cold half of buf_room(). */
void buf_make_room(struct buf *b);

/* At least BUF_ROOM_MAX writable bytes; the caller adds what it used to `len`. Never NULL. */
static inline char *buf_room(struct buf *b)
{
	if (b->cap - b->len < BUF_ROOM_MAX)
		buf_make_room(b);
	return b->data + b->len;
}

static inline void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

char *buf_format_long(char *p, uint64_t v); /* the cold half of buf_format_u64() */

/* Decimal digits of v, for which there must be 20 bytes of room. Returns the byte behind the last. */
static inline char *buf_format_u64(char *p, uint64_t v)
{
	if (v >= 10)
		return buf_format_long(p, v);
	*p = (char)('0' + v);
	return p + 1;
}

/* The same with a minus, where there is one, for which there must be a byte more. */
static inline char *buf_format_i64(char *p, int64_t v)
{
	*p = '-';
	/* Negated as unsigned, so that INT64_MIN is no overflow. */
	return buf_format_u64(p + (v < 0), v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* The digits of a number but for its last eight, for numbers of which most share them. Zeroed at
 * first. */
struct buf_high {
	uint64_t high;
	size_t len; /* 0: not known */
	char text[24];
};

/* As buf_format_u64(), for which there must be 24 bytes of room; keeps the high digits in *h. */
char *buf_format_near(char *p, uint64_t v, struct buf_high *h);

static inline void buf_put_u64(struct buf *b, uint64_t v)
{
	char *p = buf_room(b);
	b->len += (size_t)(buf_format_u64(p, v) - p);
}

static inline void buf_put_i64(struct buf *b, int64_t v)
{
	char *p = buf_room(b);
	b->len += (size_t)(buf_format_i64(p, v) - p);
}

#endif
