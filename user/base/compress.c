/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/compress.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW_BITS (15 + 16) /* 16: of a gzip file */
#define GZIP_MEMORY	 8	   /* zlib's default */

struct compress {
	int level;
	/* Made when first needed: a reader does not compress. */
	ZSTD_CCtx *packer;
	ZSTD_DCtx *unpacker;
};

int compress_new(int level, struct compress **ret)
{
	struct compress *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->level = level;
	*ret = c;
	return 0;
}

void compress_free(struct compress *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->packer);
	ZSTD_freeDCtx(c->unpacker);
	free(c);
}

size_t compress_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

ssize_t compress_pack(struct compress *c, void *dst, size_t cap, const void *src, size_t len)
{
	if (!c->packer)
		c->packer = ZSTD_createCCtx();
	if (!c->packer)
		return -ENOMEM;
	size_t n = ZSTD_compressCCtx(c->packer, dst, cap, src, len, c->level);
	return ZSTD_isError(n) ? -ENOSPC : (ssize_t)n;
}

ssize_t compress_unpack(struct compress *c, void *dst, size_t cap, const void *src, size_t len)
{
	if (!c->unpacker)
		c->unpacker = ZSTD_createDCtx();
	if (!c->unpacker)
		return -ENOMEM;
	size_t n = ZSTD_decompressDCtx(c->unpacker, dst, cap, src, len);
	return ZSTD_isError(n) ? -EBADMSG : (ssize_t)n;
}

int compress_gzip(struct buf *out, const void *data, size_t len)
{
	z_stream z = {.next_in = (Bytef *)data};
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	int state = Z_OK;
	while (state == Z_OK) {
		/* zlib counts in 32 bits. */
		size_t part = len < UINT_MAX ? len : UINT_MAX;
		if (!z.avail_in) {
			z.avail_in = (uInt)part;
			len -= part;
		}
		z.next_out = (Bytef *)buf_room(out);
		z.avail_out = BUF_ROOM_MAX;
		state = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		out->len += BUF_ROOM_MAX - z.avail_out;
	}
	deflateEnd(&z);
	return out->err;
}

uint32_t compress_crc32(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}
