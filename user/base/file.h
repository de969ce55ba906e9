/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Complete reads and writes: they retry short counts and interruptions by signals, and wait for a
 * descriptor that is non-blocking. A file of /proc has no size and may grow while it is read: it is
 * read to its end, or to the caller's limit. Sources that poll their descriptors do not use this.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens a file that may be another user's, for reading. It never waits: not for the writer of a
 * FIFO, and not for the holder of a lease (fcntl F_SETLEASE), which can delay any other open by
 * /proc/sys/fs/lease-break-time (45 s), again and again. dir: of a relative path, or AT_FDCWD.
 * flags: 0 or O_NOFOLLOW. A descriptor, or -errno: -EBUSY: leased. The kernel has then asked the
 * holder to release the lease, and a later call succeeds if it does.
 */
int file_open(int dir, const char *path, int flags);
/* Descriptors that files which stay open leave to those that are open for a moment. */
#define FILE_SPARE 8
/* True if fewer than FILE_SPARE descriptors are free. fd: the one that was opened last. */
bool file_is_last(int fd);
/* strerror() of -errno, but for -EBUSY of file_open(). */
const char *file_strerror(int err);
/* Up to n bytes from the descriptor's offset. Bytes read, fewer only at the end; or -errno. */
ssize_t file_read(int fd, void *to, size_t n);
/* Reads up to n bytes at an offset, which must fit off_t. The descriptor's own offset does not
 * change. Bytes read, fewer only at the end; or -errno. */
ssize_t file_read_at(int fd, void *to, size_t n, uint64_t offset);
/* The first n bytes of the file at `path`, fewer if it is shorter. Bytes read, or -errno. */
ssize_t file_read_path(const char *path, void *to, size_t n);
/* The first cap - 1 bytes as a string, a NUL behind them. Its length; or -errno, and it is
 * empty. */
ssize_t file_read_text(const char *path, char *ret, size_t cap);
/*
 * The whole file, of any size up to `limit` bytes, as allocated memory with a NUL behind it, which
 * the caller frees. 0 or -errno: -EFBIG: it is larger; -ENOMEM.
 */
int file_load(const char *path, size_t limit, char **ret, size_t *ret_len);
/* All n bytes. 0 or -errno, after an unknown number of bytes. */
int file_write(int fd, const void *data, size_t n);

#endif
