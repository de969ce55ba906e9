/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes to a descriptor on a thread of its own, so that a slow disk or a full pipe does not stop
 * whoever has the next bytes. Measured: with the
 * consumer of the output on a busy machine, a write that waits is what let rings wrap. What waits
 * to be written is bounded. The first error stays; bytes after it are thrown away.
 */
#ifndef BASE_WRITER_H
#define BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct writer;

/* `limit`: bytes that may wait. The descriptor stays the caller's. 0 or -errno. */
int writer_new(int fd, size_t limit, struct writer **ret);
/* Waits for what was put to be written, then ends the thread. NULL is allowed. */
void writer_free(struct writer *w);
/* Copies the bytes; waits while the limit is reached. 0 or the first error so far. */
int writer_put(struct writer *w, const void *data, size_t len);
/*
 * The same for a whole block of the caller's from malloc(), of `cap` bytes of which `len` are put:
 * where they are many, the block is kept, and *data is another one of `cap` bytes.
 */
int writer_swap(struct writer *w, char **data, size_t cap, size_t len);
/* False while more than half of the limit waits: time to do something else than to put more. */
bool writer_ready(struct writer *w);
/* Waits until all is written. 0 or the first error. */
int writer_drain(struct writer *w);

#endif
