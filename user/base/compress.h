/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compression (zstd), each call one independent frame, and gzip files and CRC-32 (zlib). Input to
 * unpack is not trusted: no more than `cap` bytes are written. One object, one thread.
 */
#ifndef BASE_COMPRESS_H
#define BASE_COMPRESS_H

#include "base/buf.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct compress;

/* `level` as zstd counts: 1 is fast. 0 or -ENOMEM. */
int compress_new(int level, struct compress **ret);
void compress_free(struct compress *c);
/* The largest frame that `len` bytes can make, in bytes. */
size_t compress_bound(size_t len);
/* The length of the frame, -ENOSPC or -ENOMEM. */
ssize_t compress_pack(struct compress *c, void *dst, size_t cap, const void *src, size_t len);
/* The length of the unpacked bytes; -EBADMSG: no frame, or more than `cap` bytes; or -ENOMEM. */
ssize_t compress_unpack(struct compress *c, void *dst, size_t cap, const void *src, size_t len);
/* Appends the bytes as a gzip file, without a name and a time. 0, -ENOMEM or the buffer's error. */
int compress_gzip(struct buf *out, const void *data, size_t len);
uint32_t compress_crc32(const void *data, size_t len);

#endif
