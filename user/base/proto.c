/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/proto.h"

#include <errno.h>

#include "base/utf8.h"

#define LENGTH_BYTES 4

void proto_put_u64(struct buf *b, uint32_t field, uint64_t v)
{
	char *p = buf_room(b);
	b->len += (size_t)(proto_format_u64(p, field, v) - p);
}

void proto_put_i64(struct buf *b, uint32_t field, int64_t v)
{
	proto_put_u64(b, field, (uint64_t)v);
}

static void put_length(struct buf *b, uint32_t field, size_t len)
{
	char *p = buf_room(b);
	b->len += (size_t)(proto_format_varint(proto_format_tag(p, field, PROTO_BYTES), len) - p);
}

void proto_put_fixed64(struct buf *b, uint32_t field, uint64_t v)
{
	char *p = proto_format_tag(buf_room(b), field, PROTO_FIXED64);
	for (int i = 0; i < 8; i++)
		*p++ = (char)(v >> 8 * i);
	b->len = (size_t)(p - b->data);
}

void proto_put_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
	put_length(b, field, len);
	if (len)
		buf_put(b, data, len);
}

void proto_put_text(struct buf *b, uint32_t field, const char *s)
{
	size_t len = strlen(s), n;
	size_t opened = proto_open(b, field);
	for (size_t at = 0; at < len; at += n ? n : 1) {
		n = utf8_length((const unsigned char *)s + at, len - at);
		if (n)
			buf_put(b, s + at, n);
		else
			buf_puts(b, UTF8_REPLACEMENT);
	}
	proto_close(b, opened);
}

void proto_put_hex(struct buf *b, uint32_t field, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *s = data;
	put_length(b, field, 2 * len);
	for (size_t i = 0; i < len; i++) {
		char *p = buf_room(b);
		p[0] = digits[s[i] >> 4];
		p[1] = digits[s[i] & 15];
		b->len += 2;
	}
}

size_t proto_open(struct buf *b, uint32_t field)
{
	char *p = buf_room(b);
	b->len += (size_t)(proto_format_tag(p, field, PROTO_BYTES) - p) + LENGTH_BYTES;
	return b->len;
}

void proto_close(struct buf *b, size_t opened)
{
	if (b->err) /* bytes were dropped: `opened` is not an offset any more */
		return;
	size_t len = b->len - opened;
	if (len > PROTO_LENGTH_MAX) {
		b->err = -EMSGSIZE;
		return;
	}
	leb128_put_padded((uint8_t *)b->data + opened - LENGTH_BYTES, LENGTH_BYTES, len);
}
