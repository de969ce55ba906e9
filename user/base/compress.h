/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes to fewer bytes and back (zstd), each call one frame that stands alone, and CRC-32 (zlib).
 * What is unpacked may hold anything: no more than the given room is written. One object, one thread.
 */
#ifndef BASE_COMPRESS_H
#define BASE_COMPRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct compress;

/* `level` as zstd counts: 1 is fast. 0 or -ENOMEM. */
int compress_new(int level, struct compress **ret);
void compress_free(struct compress *c);
/* Room that the frame of `len` bytes needs at most. */
size_t compress_bound(size_t len);
/* The length of the frame, -ENOSPC or -ENOMEM. */
ssize_t compress_pack(struct compress *c, void *dst, size_t cap, const void *src, size_t len);
/* Length of what the frame holds; -EBADMSG: it is none, or holds more than `cap`; or -ENOMEM. */
ssize_t compress_unpack(struct compress *c, void *dst, size_t cap, const void *src, size_t len);
uint32_t compress_crc32(const void *data, size_t len);

#endif
