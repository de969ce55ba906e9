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

/* Decimal digits of v; they need at most 20 bytes. Returns the byte behind the last. */
char *buf_format_u64(char *p, uint64_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_i64(struct buf *b, int64_t v);

#endif
