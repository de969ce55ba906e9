/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/memtrace/head.h"

#include <errno.h>

static const char *head_fault(const struct memtrace_head *h, uint32_t bits)
{
	if (bits & 7)
		return "whole bytes in a packet";
	if (h->bytes < h->head_bytes)
		return "a packet not shorter than its head";
	if (h->bytes > EBT_MEMTRACE_PACKET_BYTES)
		return "a packet of at most 32768 bytes";
	if (h->id_begin > h->id_end || h->id_end > INT64_MAX)
		return "ids of a packet that ascend";
	return NULL;
}

ssize_t memtrace_head(const uint8_t *p, size_t bytes, struct memtrace_head *ret,
		      const char **expected)
{
	struct memtrace_head h = {.head_bytes = MEMTRACE_HEAD_BYTES};
	uint8_t v3[MEMTRACE_HEAD_BYTES];
	if (bytes < MEMTRACE_HEAD_BYTES)
		return 0;
	*expected = "the head of a packet, c11ffcc1";
	if (memtrace_u32(p) != MEMTRACE_MAGIC)
		return -EBADMSG;
	h.version = memtrace_u16(p + 28);
	*expected = "a version from 1 to 3";
	if (!h.version || h.version > MEMTRACE_VERSION)
		return -EPROTO;
	memcpy(v3, p, sizeof(v3));
	if (h.version < 3) {
		h.head_bytes = MEMTRACE_HEAD_BYTES - 2;
		memcpy(v3 + 40, p + 38, MEMTRACE_HEAD_BYTES - 40);
		memset(v3 + 38, 0, 2);
	}
	h.bytes = memtrace_u32(p + 4) / 8;
	h.time_begin = memtrace_u64(v3 + 8);
	h.time_end = memtrace_u64(v3 + 16);
	h.pid = memtrace_u64(v3 + 30);
	h.domain = memtrace_u16(v3 + 38);
	h.verifier = memtrace_u16(v3 + 40);
	h.predicted = memtrace_u16(v3 + 42);
	h.verifier_code = memtrace_int(v3 + 44);
	h.id_begin = memtrace_u64(v3 + 52);
	h.id_end = memtrace_u64(v3 + 60);
	*expected = head_fault(&h, memtrace_u32(p + 4));
	if (*expected)
		return -EBADMSG;
	*ret = h;
	return h.bytes;
}
