/* SPDX-License-Identifier: BSD-2-Clause */
/* A protobuf reader of the tests' own, as simple as can be: one field after the other. */
#ifndef TESTS_PROTO_READER_H
#define TESTS_PROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field {
	uint32_t number;
	unsigned wire;
	uint64_t value;		   /* of a varint; the length of bytes */
	const unsigned char *data; /* of bytes */
};

struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t reader_varint(struct reader *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (r->at == r->end)
			break;
		unsigned char c = *r->at++;
		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
	r->bad = true;
	return 0;
}

static uint64_t reader_fixed64(struct reader *r)
{
	uint64_t v = 0;
	r->bad |= r->end - r->at < 8;
	for (unsigned i = 0; i < 8 && !r->bad; i++)
		v |= (uint64_t)*r->at++ << 8 * i;
	return v;
}

/* False at the end, or when what follows is no field: then `bad` says so. */
static bool reader_next(struct reader *r, struct field *f)
{
	if (r->bad || r->at == r->end)
		return false;
	uint64_t tag = reader_varint(r);
	*f = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	f->value = f->wire == 1 ? reader_fixed64(r) : reader_varint(r);
	if (f->wire == 1)
		return !r->bad;
	if (f->wire == 2) {
		f->data = r->at;
		if (f->value > (uint64_t)(r->end - r->at))
			r->bad = true;
		else
			r->at += f->value;
	} else if (f->wire) {
		r->bad = true;
	}
	return !r->bad;
}

static struct reader reader_of(const void *data, size_t len)
{
	return (struct reader){.at = data, .end = (const unsigned char *)data + len};
}

static struct reader reader_in(const struct field *f)
{
	return reader_of(f->data, f->data ? f->value : 0);
}

#endif
