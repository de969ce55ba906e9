/* SPDX-License-Identifier: BSD-2-Clause */
/* LEB128: numbers to bytes and back at every length, and bytes that no writer makes. */
#include "base/leb128.h"

#include "tests/tap.h"

#include <stdbool.h>

struct row {
	const char *name;
	uint64_t value;
	unsigned len;
	uint8_t bytes[LEB128_MAX];
};

static const struct row rows[] = {
	{"zero", 0, 1, {0}},
	{"the greatest of one byte", 127, 1, {0x7f}},
	{"the smallest of two bytes", 128, 2, {0x80, 0x01}},
	{"300, as protobuf's documentation has it", 300, 2, {0xac, 0x02}},
	{"the greatest of two bytes", 16383, 2, {0xff, 0x7f}},
	{"the smallest of three bytes", 16384, 3, {0x80, 0x80, 0x01}},
	{"32 bits", UINT32_MAX, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
	{"63 bits", INT64_MAX, 9, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
	{"the top bit alone",
	 1ull << 63,
	 10,
	 {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}},
	{"64 bits", UINT64_MAX, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
};

static void check(const struct row *r)
{
	uint8_t bytes[LEB128_MAX + 1];
	uint64_t back;
	memset(bytes, 0xee, sizeof(bytes));
	uint8_t *end = leb128_put(bytes, r->value);
	ok(end == bytes + r->len && !memcmp(bytes, r->bytes, r->len) && bytes[LEB128_MAX] == 0xee,
	   "%s: %u bytes, and none behind the room", r->name, r->len);
	ok(leb128_get(bytes, &back) == end && back == r->value, "%s: and back", r->name);
}

static void test_every_length(void)
{
	bool good = true;
	for (unsigned bits = 0; bits < 64; bits++) {
		for (int d = -1; d <= 1; d++) {
			uint8_t bytes[LEB128_MAX];
			uint64_t v = (1ull << bits) + (uint64_t)d, back;
			uint8_t *end = leb128_put(bytes, v);
			good &= leb128_get(bytes, &back) == end && back == v;
			/* The shortest form: the last byte is not 0, but for 0 itself. */
			good &= end - bytes == 1 || end[-1];
		}
	}
	ok(good, "around every power of two: back as they were, in the fewest bytes");
}

static void test_forged(void)
{
	uint8_t endless[LEB128_MAX + 2], padded[] = {0x85, 0x80, 0x80, 0x00};
	uint8_t above[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f};
	uint64_t v;
	memset(endless, 0xff, sizeof(endless));
	ok(leb128_get(endless, &v) == endless + LEB128_MAX,
	   "a number that does not end is left after ten bytes");
	ok(leb128_get(padded, &v) == padded + 4 && v == 5, "zeros in the top are no harm");
	ok(leb128_get(above, &v) == above + 10 && v == 1ull << 63,
	   "bits above the 64th are dropped");
}

static void test_padded(void)
{
	uint8_t bytes[5] = {0, 0, 0, 0, 0xee}, *p = bytes;
	uint64_t v;
	leb128_put_padded(p, 4, 5);
	ok(!memcmp(bytes, "\x85\x80\x80\x00\xee", 5), "a small number in four bytes");
	leb128_put_padded(p, 4, (1u << 28) - 1);
	ok(!memcmp(bytes, "\xff\xff\xff\x7f\xee", 5), "the greatest that fits in four");
	ok(leb128_get(bytes, &v) == bytes + 4 && v == (1u << 28) - 1, "and back");
}

static void test_fold(void)
{
	static const struct {
		int64_t n;
		uint64_t v;
	} folds[] = {{0, 0},
		     {-1, 1},
		     {1, 2},
		     {-2, 3},
		     {2, 4},
		     {INT64_MAX, UINT64_MAX - 1},
		     {INT64_MIN, UINT64_MAX}};
	for (unsigned i = 0; i < sizeof(folds) / sizeof(*folds); i++)
		ok(leb128_fold((uint64_t)folds[i].n) == folds[i].v &&
			   leb128_unfold(folds[i].v) == (uint64_t)folds[i].n,
		   "%lld is folded, and back", (long long)folds[i].n);
}

int main(void)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&rows[i]);
	test_every_length();
	test_forged();
	test_padded();
	test_fold();
	return tap_done();
}
