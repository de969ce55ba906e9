/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes to a descriptor on a thread of its own, so that a slow disk or a full pipe does not block
 * the caller. Measured: with the consumer of the output on a busy machine, rings wrapped because a
 * write blocked. The queue is bounded. It keeps the first error and drops later bytes.
 *
 * The reader of a pipe, or a stopped terminal, may accept nothing for ever. Once the user has asked
 * us to end (ending.h), the output is given up when it has accepted nothing for 0.15 s: -ECANCELED.
 */
#ifndef BASE_WRITER_H
#define BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer;

/* `limit`: bytes that may be queued. The descriptor stays the caller's. 0 or -errno. */
int writer_new(int fd, size_t limit, struct writer **ret);
/* Waits until the queue is written or given up, then ends the thread. NULL is allowed. */
void writer_free(struct writer *w);
/* Queues a copy of the bytes; blocks while the limit is reached. 0 or the first error so far. */
int writer_put(struct writer *w, const void *data, size_t len);
/*
 * Queues `len` bytes in a block of the caller's from malloc(), of `cap` bytes; blocks while the
 * limit is reached. If they fill half of the block or more, the writer keeps it, and *data becomes
 * another one of `cap` bytes. 0 or the first error so far.
 */
int writer_swap(struct writer *w, char **data, size_t cap, size_t len);
/* False while more than half of the limit is queued: a caller that can wait should. */
bool writer_ready(struct writer *w);
/* Waits until all is written. 0 or the first error. */
int writer_drain(struct writer *w);
/* Bytes that were queued when the output was given up; 0: it was not. */
uint64_t writer_given_up(struct writer *w);

#endif
