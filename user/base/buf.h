/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A byte buffer: it grows in memory, or writes to a descriptor when it is full, directly or on a
 * thread (writer.h). It keeps the first error and drops later bytes, so callers need to check only
 * at the end. It does not close the descriptor.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes that buf_room() guarantees. */
#define BUF_ROOM_MAX 1024

struct buf {
	char *data;
	size_t len, cap;
	int fd;		       /* -1: memory only */
	struct writer *writer; /* NULL: write to fd directly */
	int err;	       /* 0 or the first -errno */
	uint64_t passed;       /* bytes handed to the descriptor or the thread */
};

/* fd -1: in memory, without limit. `cap`: its first size, or the size of a write. 0 or -ENOMEM. */
int buf_init(struct buf *b, int fd, size_t cap);
/* As buf_init(), and a thread writes to the descriptor; about `limit` bytes are queued at most. fd
 * -1: no thread. 0 or -errno. */
int buf_init_behind(struct buf *b, int fd, size_t cap, size_t limit);
void buf_done(struct buf *b);
/* An error of the caller's: the first one stays. */
void buf_keep_error(struct buf *b, int err);
/* A text in memory that becomes a part of another, which keeps the part's first error. False: no
 * memory. */
bool buf_init_part(struct buf *b, struct buf *whole);
void buf_done_part(struct buf *b, struct buf *whole);
/* False while the thread's queue is long: buf_put() may block. */
bool buf_ready(const struct buf *b);
void buf_put(struct buf *b, const void *data, size_t len);
/* A text of a traced program, a question mark for each byte that is not safe for a terminal. */
void buf_put_plain(struct buf *b, const char *s);
/* Writes the buffered bytes to the descriptor, or queues them. 0 or the first error. */
int buf_flush(struct buf *b);
/* Writes the buffered bytes and waits until all are written. 0 or the first error. */
int buf_finish(struct buf *b);
/* Bytes that the thread had not written when it gave the output up (-ECANCELED); 0: it did not. */
uint64_t buf_given_up(const struct buf *b);
/* Memory only: the bytes as a string; its NUL is not part of `len`. Never NULL. */
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

/* Writes the decimal digits of v, at most 20 bytes. Returns the byte behind the last. */
static inline char *buf_format_u64(char *p, uint64_t v)
{
	if (v >= 10)
		return buf_format_long(p, v);
	*p = (char)('0' + v);
	return p + 1;
}

/* Writes v in decimal, with a sign if it is negative, at most 21 bytes. Returns the byte behind the
 * last. */
static inline char *buf_format_i64(char *p, int64_t v)
{
	*p = '-';
	/* Negated as unsigned, so that INT64_MIN is no overflow. */
	return buf_format_u64(p + (v < 0), v < 0 ? -(uint64_t)v : (uint64_t)v);
}

#define BUF_E8 100000000u /* 10^8 */

/*
 * The eight digits of v < 10^8 as bytes of 0 to 9, the first one lowest: halves, quarters and
 * eighths are divided side by side in one word. The factors are 1 / 100 and 1 / 10, exact in these
 * ranges.
 */
static inline uint64_t buf_digits(uint32_t v)
{
	uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
	uint64_t high = (x * 10486 >> 20) & 0x0000007f0000007f;
	x = high | (x - 100 * high) << 16;
	high = (x * 103 >> 10) & 0x000f000f000f000f;
	return high | (x - 10 * high) << 8;
}

/* Eight digits of v < 10^8, with leading zeros. Returns the byte behind them. */
static inline char *buf_format_eight(char *p, uint32_t v)
{
	uint64_t text = htole64(buf_digits(v) | 0x3030303030303030);
	memcpy(p, &text, sizeof(text));
	return p + sizeof(text);
}

/* Caches the digits of a number except its last eight, for numbers that mostly share them. Zeroed
 * memory is an empty one. */
struct buf_high {
	uint64_t high; /* 0: none */
	size_t len;
	char text[24];
};

void buf_set_high(struct buf_high *h, uint64_t high); /* the cold half of buf_format_near() */

/* As buf_format_u64(), but may overwrite 24 bytes; keeps the high digits in *h. */
static inline char *buf_format_near(char *p, uint64_t v, struct buf_high *h)
{
	uint64_t high = v / BUF_E8;
	if (!high)
		return buf_format_u64(p, v);
	if (h->high != high)
		buf_set_high(h, high);
	memcpy(p, h->text, 16);
	return buf_format_eight(p + h->len, (uint32_t)(v % BUF_E8));
}

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
