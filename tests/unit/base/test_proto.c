/* SPDX-License-Identifier: BSD-2-Clause */
/* What the protobuf writer writes, byte for byte and read back. */
#include "base/proto.h"

#include <errno.h>

#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/proto_reader.h"

static const char *hex(const struct buf *b)
{
	static char text[512];
	size_t at = 0;
	*text = 0;
	for (size_t i = 0; i < b->len && at < sizeof(text) - 4; i++)
		at += (size_t)sprintf(text + at, "%02x ", (unsigned char)b->data[i]);
	return text;
}

static struct buf start(void)
{
	struct buf b;
	if (buf_init(&b, -1, 0))
		abort();
	return b;
}

static void test_scalars(void)
{
	static const struct {
		uint32_t field;
		uint64_t value;
		const char *want, *name;
	} rows[] = {
		{1, 0, "08 00 ", "zero is written, as it may differ from what a reader assumes"},
		{1, 127, "08 7f ", "7 bits take a byte"},
		{1, 128, "08 80 01 ", "8 bits take two"},
		{15, 300, "78 ac 02 ", "the last field number that takes one byte"},
		{16, 1, "80 01 01 ", "the first that takes two"},
		{536870911, 1, "f8 ff ff ff 0f 01 ", "the largest field number"},
		{1, UINT64_MAX, "08 ff ff ff ff ff ff ff ff ff 01 ", "64 bits take ten"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf b = start();
		proto_put_u64(&b, rows[i].field, rows[i].value);
		is_str(hex(&b), rows[i].want, rows[i].name);
		buf_done(&b);
	}
	struct buf b = start();
	proto_put_i64(&b, 1, -1);
	is_str(hex(&b), "08 ff ff ff ff ff ff ff ff ff 01 ", "minus one takes ten bytes");
	buf_done(&b);
}

static void test_strings(void)
{
	struct buf b = start();
	proto_put_bytes(&b, 2, "a\0b", 3);
	proto_put_bytes(&b, 2, NULL, 0);
	is_str(hex(&b), "12 03 61 00 62 12 00 ", "bytes are written as they are");
	b.len = 0;
	proto_put_hex(&b, 2, "\x01\xfe", 2);
	is_str(hex(&b), "12 04 30 31 66 65 ", "bytes as digits");
	b.len = 0;
	proto_put_text(&b, 1, "\xc3\xa9\xff|");
	is_str(hex(&b), "0a 86 80 80 00 c3 a9 ef bf bd 7c ", "a text is UTF-8, whatever it was");
	buf_done(&b);
}

static void test_nested(void)
{
	struct buf b = start();
	size_t outer = proto_open(&b, 1), inner = proto_open(&b, 2);
	proto_put_u64(&b, 3, 5);
	proto_close(&b, inner);
	proto_close(&b, outer);
	is_str(hex(&b), "0a 87 80 80 00 12 82 80 80 00 18 05 ", "lengths are padded varints");
	b.len = 0;
	proto_close(&b, proto_open(&b, 1));
	is_str(hex(&b), "0a 80 80 80 00 ", "a message may be empty");
	char room[32], *opened = proto_format_open(room, 1);
	char *end = proto_format_u64(opened, 3, 5);
	proto_format_close(opened, end);
	b.len = 0;
	buf_put(&b, room, (size_t)(end - room));
	is_str(hex(&b), "0a 02 18 05 ", "a small one has one byte for its length");
	buf_done(&b);
}

static void test_limits(void)
{
	struct buf b = start();
	size_t opened = proto_open(&b, 1);
	buf_done(&b);
	/* Only the four bytes of the length are touched of all this. */
	size_t cap = (size_t)PROTO_LENGTH_MAX + 4096;
	b = (struct buf){.fd = -1, .data = malloc(cap), .cap = cap};
	if (!b.data)
		abort();
	b.len = opened + PROTO_LENGTH_MAX;
	proto_close(&b, opened);
	ok(!b.err && !memcmp(b.data + opened - 4, "\xff\xff\xff\x7f", 4),
	   "the longest message that four bytes can say");
	b.len++;
	proto_close(&b, opened);
	is(b.err, -EMSGSIZE, "a longer one is an error that stays in the buffer");
	proto_put_u64(&b, 1, 1);
	proto_close(&b, opened);
	is(b.err, -EMSGSIZE, "what follows an error does no harm");
	buf_done(&b);
}

#define OPS 4000

/* What was written, as a list: -1 closes, -2 opens, else the value of a scalar. */
struct op {
	int what;
	uint32_t field;
	uint64_t value;
};

static uint64_t rng = 88172645463325252ull;
static uint64_t roll(void)
{
	return random_next(&rng);
}

enum { CLOSE = -1, OPEN = -2, SCALAR = 0, BYTES = 1 };

static size_t write_random(struct buf *b, struct op *ops)
{
	size_t marks[64];
	unsigned depth = 0;
	size_t n = 0;
	for (size_t i = 0; i < OPS; i++) {
		uint32_t field = 1 + (uint32_t)(roll() >> (35 + roll() % 29)) % 536870911;
		unsigned choice = roll() % 8;
		if (choice < 2 && depth < 64) {
			marks[depth++] = proto_open(b, field);
			ops[n++] = (struct op){OPEN, field, 0};
		} else if (choice < 4 && depth) {
			proto_close(b, marks[--depth]);
			ops[n++] = (struct op){CLOSE, 0, 0};
		} else if (choice < 5) {
			char bytes[300];
			size_t len = roll() % sizeof(bytes);
			memset(bytes, (int)len, sizeof(bytes));
			proto_put_bytes(b, field, bytes, len);
			ops[n++] = (struct op){BYTES, field, len};
		} else {
			uint64_t v = roll() >> roll() % 64;
			proto_put_u64(b, field, v);
			ops[n++] = (struct op){SCALAR, field, v};
		}
	}
	while (depth) {
		proto_close(b, marks[--depth]);
		ops[n++] = (struct op){CLOSE, 0, 0};
	}
	return n;
}

/* Compares a message with the list from *at on, up to its CLOSE or the end. */
static bool same(struct reader r, const struct op *ops, size_t count, size_t *at)
{
	for (struct field f; reader_next(&r, &f);) {
		if (*at == count)
			return false;
		const struct op *op = &ops[(*at)++];
		if (op->field != f.number || (op->what == SCALAR) != (f.wire == 0))
			return false;
		if (op->what == OPEN) {
			if (!same(reader_in(&f), ops, count, at) || *at == count ||
			    ops[(*at)++].what != CLOSE)
				return false;
		} else if (op->value != f.value) {
			return false;
		} else if (op->what == BYTES) {
			for (size_t i = 0; i < f.value; i++)
				if (f.data[i] != (unsigned char)f.value)
					return false;
		}
	}
	return !r.bad;
}

static void test_model(void)
{
	static struct op ops[OPS + 64];
	bool good = true;
	size_t bytes = 0;
	for (int round = 0; good && round < 50; round++) {
		struct buf b = start();
		size_t n = write_random(&b, ops), at = 0;
		bytes += b.len;
		good = !b.err && same(reader_of(b.data, b.len), ops, n, &at) && at == n;
		buf_done(&b);
	}
	ok(good && bytes > 1000000, "random trees of messages are read back as they were written");
}

int main(void)
{
	test_scalars();
	test_strings();
	test_nested();
	test_limits();
	test_model();
	return tap_done();
}
