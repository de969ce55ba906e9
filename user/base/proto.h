/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes protobuf in one pass: no tree, no allocation a message. Opening a nested message reserves
 * 4 bytes for its length, a padded varint, and closing it fills them in; so a message has at most
 * 256 MiB. The proto_put_ functions append to a buffer in memory (buf.h), which keeps the first
 * error; the proto_format_ functions write to memory of the caller and return the byte behind their
 * output. The caller knows the fields and closes messages innermost first.
 */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

#include "base/buf.h"
#include "base/leb128.h"

#define PROTO_VARINT_MAX LEB128_MAX
#define PROTO_LENGTH_MAX ((1u << 28) - 1) /* bytes of a nested message */
#define PROTO_TAG_MAX	 5u		  /* bytes of a field's number */

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

static inline char *proto_format_varint(char *p, uint64_t v)
{
	return (char *)leb128_put((uint8_t *)p, v);
}

static inline char *proto_format_tag(char *p, uint32_t field, enum proto_wire wire)
{
	return proto_format_varint(p, (uint64_t)field << 3 | wire);
}

/* uint32, uint64, bool and enum fields. At most PROTO_TAG_MAX + PROTO_VARINT_MAX bytes. */
static inline char *proto_format_u64(char *p, uint32_t field, uint64_t v)
{
	return proto_format_varint(proto_format_tag(p, field, PROTO_VARINT), v);
}

/*
 * Opens a message of less than 128 bytes: the byte before the returned address is for its length,
 * which proto_format_close() writes.
 */
static inline char *proto_format_open(char *p, uint32_t field)
{
	return proto_format_tag(p, field, PROTO_BYTES) + 1;
}
static inline void proto_format_close(char *opened, const char *end)
{
	opened[-1] = (char)(end - opened);
}

void proto_put_u64(struct buf *b, uint32_t field, uint64_t v);
/* int32 and int64 fields; not sint32 and sint64. */
void proto_put_i64(struct buf *b, uint32_t field, int64_t v);
/* fixed64 fields. */
void proto_put_fixed64(struct buf *b, uint32_t field, uint64_t v);
/* bytes and string fields; `data` may be NULL if there are none. */
void proto_put_bytes(struct buf *b, uint32_t field, const void *data, size_t len);
/* A string field of a C string; bytes that are not UTF-8 become U+FFFD. */
void proto_put_text(struct buf *b, uint32_t field, const char *s);
/* A string field of hexadecimal digits. */
void proto_put_hex(struct buf *b, uint32_t field, const void *data, size_t len);
/* Opens a nested message; the result is the argument of proto_close(). */
size_t proto_open(struct buf *b, uint32_t field);
/* A message that is too long sets -EMSGSIZE in the buffer. */
void proto_close(struct buf *b, size_t opened);

#endif
