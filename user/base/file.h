/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes that are whole: short counts and interruptions by signals are retried, and a
 * descriptor that somebody made non-blocking is waited for. A file of /proc has no size and may grow
 * while it is read: it is read to its end, or to the caller's limit. Streams that are polled are
 * read by their sources, not here.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to n bytes from where the descriptor is. Bytes read, fewer only at the end; or -errno. */
ssize_t file_read(int fd, void *to, size_t n);
/* The same at an offset, which must fit off_t. The descriptor's own does not move. */
ssize_t file_read_at(int fd, void *to, size_t n, uint64_t offset);
/* The first n bytes of the file at `path`, fewer if it is shorter. Bytes read, or -errno. */
ssize_t file_read_path(const char *path, void *to, size_t n);
/* The first cap - 1 bytes as a string, a NUL behind them. Its length; or -errno, and it is empty. */
ssize_t file_read_text(const char *path, char *ret, size_t cap);
/*
 * The whole file, of any size up to `limit` bytes, as allocated memory with a NUL behind it, which
 * the caller frees. 0 or -errno: -EFBIG: it is larger; -ENOMEM.
 */
int file_load(const char *path, size_t limit, char **ret, size_t *ret_len);
/* All n bytes. 0 or -errno; how many were written then is not known. */
int file_write(int fd, const void *data, size_t n);

#endif
