/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

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

uint32_t compress_crc32(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}
