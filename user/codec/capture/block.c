/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/capture/block.h"

#include "base/compress.h"
#include <endian.h>
#include <errno.h>
#include <string.h>

#define BLOCK_MAGIC 0xb10ceb7eu
#define CRC_OFFSET  (CAPTURE_BLOCK_BYTES - 4)

/* By family. */
enum {
	KIND_OF_runtime = CAPTURE_COUNTED,
	KIND_OF_user = CAPTURE_COUNTED,
	KIND_OF_stream = CAPTURE_UNCOUNTED,
	KIND_OF_memory = CAPTURE_COUNTED,
	KIND_OF_pages = CAPTURE_COUNTED,
	KIND_OF_sched = CAPTURE_COUNTED,
};
const uint8_t capture_kinds[EBT_KINDS] = {
#define EBT_KIND_DEF(value, KIND, name, family, ...) [value] = KIND_OF_##family,
#include <ebtrace/events.def>
};

static const uint8_t head_magic[8] = {0xeb, 'E', 'B', 'T', '\r', '\n', 0x1a, '\n'};

bool capture_is(const void *head, size_t len)
{
	return len >= sizeof(head_magic) && !memcmp(head, head_magic, sizeof(head_magic));
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

void capture_put_head(void *ret)
{
	uint8_t *p = ret;
	memcpy(p, head_magic, sizeof(head_magic));
	put32(p + 8, CAPTURE_VERSION);
	put32(p + 12, 0);
}

void capture_block_put(const struct capture_block *b, uint8_t *ret)
{
	put32(ret, BLOCK_MAGIC);
	put32(ret + 4, b->type);
	put32(ret + 8, b->stored);
	put32(ret + 12, b->raw);
	put64(ret + 16, b->first_ns);
	put64(ret + 24, b->before);
	put32(ret + 32, b->events);
	put32(ret + 36, b->crc);
	put32(ret + CRC_OFFSET, compress_crc32(ret, CRC_OFFSET));
}

bool capture_block_get(const uint8_t *p, struct capture_block *ret)
{
	if (get32(p) != BLOCK_MAGIC || get32(p + CRC_OFFSET) != compress_crc32(p, CRC_OFFSET))
		return false;
	struct capture_block b = {
		.type = get32(p + 4),
		.stored = get32(p + 8),
		.raw = get32(p + 12),
		.first_ns = get64(p + 16),
		.before = get64(p + 24),
		.events = get32(p + 32),
		.crc = get32(p + 36),
	};
	if (b.stored > CAPTURE_STORED_MAX || b.raw > CAPTURE_RAW_MAX)
		return false;
	*ret = b;
	return true;
}

uint32_t capture_block_move(void *block, uint64_t before)
{
	uint8_t *p = block;
	put64(p + 24, before);
	put32(p + CRC_OFFSET, compress_crc32(p, CRC_OFFSET));
	return get32(p + 32);
}

int capture_head_get(const uint8_t *p)
{
	if (!capture_is(p, CAPTURE_HEAD_BYTES))
		return -EBADMSG;
	return get32(p + 8) == CAPTURE_VERSION ? 0 : -EPROTO;
}
