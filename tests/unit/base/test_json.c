/* SPDX-License-Identifier: BSD-2-Clause */
/* json: strings of any bytes, numbers as printf() writes them, commas and nesting. */
#include "base/json.h"

#include "tests/tap.h"

#include <math.h>

static struct buf out;

static struct json begin(void)
{
	out.len = 0;
	return (struct json){.out = &out};
}

static void check_string(const char *s, size_t len, const char *want, const char *name)
{
	struct json j = begin();
	json_string(&j, s, len);
	is_str(buf_str(&out), want, name);
}
#define STRING(s, want, name) check_string(s, sizeof(s) - 1, want, name)

static void test_strings(void)
{
	STRING("", "\"\"", "an empty string");
	STRING("plain", "\"plain\"", "a plain string");
	STRING("a\"b\\c\n\x01", "\"a\\\"b\\\\c\\n\\u0001\"",
	       "quotes, backslashes and control characters are escaped");
	STRING("\t\r\b\f\x1f/", "\"\\t\\r\\b\\f\\u001f/\"",
	       "in their short forms, where there is one");
	STRING("a\0b", "\"a\\u0000b\"", "a NUL is no end");
	STRING("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xab", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xab\"",
	       "UTF-8 of two, three and four bytes stays as it is");
	STRING("\xc2\x80\xc2\x9f\xc2\xa0\x7f", "\"\\u0080\\u009f\xc2\xa0\\u007f\"",
	       "but for the control characters behind ASCII");
	STRING("\xff\xc3", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "bytes that are no UTF-8 become U+FFFD");
	STRING("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", "so do surrogates");
	STRING("\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "and what is longer than it need be");
	STRING("a\xe2\x82", "\"a\xef\xbf\xbd\xef\xbf\xbd\"", "and what is cut off at the end");
}

/* Longer than any room, each character of the greatest length, at every offset from the room's
 * end. */
static void test_long_strings(void)
{
	static const struct {
		const char *in, *want;
	} rows[] = {{"a", "a"},
		    {"\x01", "\\u0001"},
		    {"\xf0\x9f\x90\xab", "\xf0\x9f\x90\xab"},
		    {"\xff", "\xef\xbf\xbd"},
		    {"\"", "\\\""}};
	int good = 1;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
		for (size_t before = 0; before < 8; before++) {
			char in[4 * 4096], want[6 * 4096 + 10];
			size_t n = 0, m = 0;
			for (size_t i = 0; i < before; i++)
				in[n++] = 'x';
			m = (size_t)sprintf(want, "\"%.*s", (int)before, "xxxxxxxx");
			for (unsigned i = 0; i < 3000; i++) {
				n += (size_t)sprintf(in + n, "%s", rows[r].in);
				m += (size_t)sprintf(want + m, "%s", rows[r].want);
			}
			strcpy(want + m, "\"");
			struct json j = begin();
			json_string(&j, in, n);
			good &= !strcmp(buf_str(&out), want);
		}
	}
	ok(good, "strings longer than the room of a buffer are whole, wherever it ends");
	unsigned char bytes[3000];
	char hex[6003] = "\"";
	for (unsigned i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (unsigned char)(i * 7);
		sprintf(hex + 1 + 2 * i, "%02x", bytes[i]);
	}
	strcat(hex, "\"");
	struct json j = begin();
	json_hex(&j, bytes, sizeof(bytes));
	is_str(buf_str(&out), hex, "so are bytes in hexadecimal");
}

#define WATCHED 64

enum value { STRING_VALUE, WORDS_VALUE, HEX_VALUE };

/* Into a buffer that has just the room that it promises: whether what is behind that stays. */
static int stays_in_room(enum value value, const char *text, size_t len)
{
	struct buf b;
	int good = 1;
	if (buf_init(&b, -1, 2 * BUF_ROOM_MAX))
		abort();
	size_t cap = b.cap -= WATCHED;
	b.len = cap - BUF_ROOM_MAX;
	memset(b.data + cap, 0x5a, WATCHED);
	struct json j = {.out = &b, .comma = true};
	if (value == STRING_VALUE)
		json_string(&j, text, len);
	else if (value == WORDS_VALUE)
		json_words(&j, text, len / 8);
	else
		json_hex(&j, text, len);
	/* One that has grown had no room for it. */
	for (unsigned i = 0; i < WATCHED && b.cap == cap; i++)
		good &= b.data[cap + i] == 0x5a;
	buf_done(&b);
	return good;
}

static void test_room(void)
{
	static const char *const pieces[] = {"a", "\x01", "\xf0\x9f\x90\xab", "\xff", "\""};
	int good = 1;
	for (unsigned r = 0; r < sizeof(pieces) / sizeof(*pieces); r++) {
		char text[6 + 4 * 1100 + 1], *p = stpcpy(text, "xxxxxx");
		for (unsigned i = 0; i < 1100; i++)
			p = stpcpy(p, pieces[r]);
		for (size_t n = 0; n <= (size_t)(p - text); n++)
			for (unsigned skip = 0; skip < 6 && skip <= n; skip++)
				good &= stays_in_room(STRING_VALUE, text + skip, n - skip);
	}
	ok(good, "a string of any length stays in the room that there is");
	char words[1600];
	memset(words, 0xff, sizeof(words));
	for (size_t n = 0; n <= sizeof(words); n++)
		good &= stays_in_room(WORDS_VALUE, words, n) & stays_in_room(HEX_VALUE, words, n);
	ok(good, "so do arrays of the greatest words, and bytes");
}

static int is_number(uint64_t v)
{
	char want[32];
	struct json j = begin();
	json_u64(&j, v);
	snprintf(want, sizeof(want), "%llu", (unsigned long long)v);
	int good = !strcmp(buf_str(&out), want);
	j = begin();
	json_i64(&j, (int64_t)v);
	snprintf(want, sizeof(want), "%lld", (long long)v);
	return good & !strcmp(buf_str(&out), want);
}

static void test_numbers(void)
{
	int good = 1;
	uint64_t ten = 1, v = 1;
	for (int digits = 0; digits < 20; digits++, ten *= 10)
		for (int d = -2; d <= 2; d++)
			good &= is_number(ten + (uint64_t)d) & is_number(-ten + (uint64_t)d) &
				is_number(ten / 2 * 9 + (uint64_t)d);
	ok(good, "numbers around each power of ten are as printf() writes them");
	good = 1;
	for (uint64_t i = 0; i < 100000; i++)
		good &= is_number(i);
	ok(good, "so are all up to 100,000");
	good = 1;
	for (int i = 0; i < 100000; i++) {
		v = v * 6364136223846793005u + 1442695040888963407u;
		good &= is_number(v >> i % 64);
	}
	ok(good, "and 100,000 random ones of every length");
	char p[32];
	memset(p, 0xee, sizeof(p));
	ok(buf_format_u64(p, UINT64_MAX) == p + 20 && (unsigned char)p[20] == 0xee,
	   "the greatest takes the 20 bytes of room");
}

static void test_words(void)
{
	static char want[400 * 21 + 3];
	uint64_t words[400];
	int good = 1;
	for (size_t n = 0; n <= 400; n++) {
		char unaligned[sizeof(words) + 1], *p = want;
		*p++ = '[';
		for (size_t i = 0; i < n; i++) {
			words[i] = i % 3 ? UINT64_MAX - i : i;
			p += sprintf(p, "%s%llu", i ? "," : "", (unsigned long long)words[i]);
		}
		strcpy(p, "]");
		memcpy(unaligned + 1, words, 8 * n);
		struct json j = begin();
		json_words(&j, unaligned + 1, n);
		good &= !strcmp(buf_str(&out), want);
	}
	ok(good, "arrays of 0 to 400 words are whole");
}

static void test_doubles(void)
{
	struct json j = begin();
	json_open(&j, '[');
	json_double(&j, 0.1234567);
	json_double(&j, -1e10);
	json_double(&j, NAN);
	json_double(&j, INFINITY);
	json_close(&j, ']');
	is_str(buf_str(&out), "[0.123457,-10000000000.000000,null,null]",
	       "six digits behind the point; what is no number is null");
	j = begin();
	json_double(&j, 1e308);
	ok(out.len == 309 + 7 && !strncmp(buf_str(&out), "1000", 4), "the longest is whole");
	j = begin();
	json_open(&j, '[');
	json_exact(&j, 1e-5);
	json_exact(&j, 0.1 + 0.2);
	json_exact(&j, 64);
	json_exact(&j, NAN);
	json_close(&j, ']');
	is_str(buf_str(&out), "[1e-05,0.30000000000000004,64,null]",
	       "an exact number has the fewest digits that read back the same");
}

static void test_nesting(void)
{
	struct json j = begin();
	json_open(&j, '{');
	json_key_open(&j, "empty", '{');
	json_close(&j, '}');
	json_key_open(&j, "none", '[');
	json_close(&j, ']');
	json_key_i64(&j, "min", INT64_MIN);
	json_key_known(&j, "max", true, UINT64_MAX);
	json_key_known(&j, "unknown", false, 5);
	json_key_str(&j, "text", "a\"");
	json_key_double(&j, "half", 0.5);
	json_key_open(&j, "list", '[');
	json_bool(&j, true);
	json_open(&j, '[');
	json_bool(&j, false);
	json_close(&j, ']');
	json_hex(&j, "\x00\xab", 2);
	json_raw(&j, "{\"a\":1}");
	json_open(&j, '{');
	json_key_null(&j, "b");
	json_close(&j, '}');
	json_close(&j, ']');
	json_key_bool(&j, "last", true);
	json_close(&j, '}');
	is_str(buf_str(&out),
	       "{\"empty\":{},\"none\":[],\"min\":-9223372036854775808,"
	       "\"max\":18446744073709551615,\"unknown\":null,\"text\":\"a\\\"\","
	       "\"half\":0.500000,\"list\":[true,[false],\"00ab\",{\"a\":1},{\"b\":null}],"
	       "\"last\":true}",
	       "commas stand between values, and nowhere else");
}

static void test_depth(void)
{
	struct json j = begin();
	char want[3 * JSON_DEPTH_MAX + 1] = "", *p = want;
	for (unsigned i = 0; i < JSON_DEPTH_MAX; i++) {
		json_open(&j, '[');
		*p++ = '[';
	}
	json_u64(&j, 1);
	*p++ = '1';
	for (unsigned i = 0; i < JSON_DEPTH_MAX; i++) {
		json_close(&j, ']');
		*p++ = ']';
	}
	is_str(buf_str(&out), want, "as deep as it may be");
	is(j.depth, 0, "and closed again");
}

static void test_format(void)
{
	const char part[16] = ",\"name\":\"x\"";
	struct json j = begin();
	json_open(&j, '[');
	for (int i = 0; i < 2; i++) {
		char *p = json_begin(&j);
		p = JSON_FORMAT_RAW(p, "{\"ts\":");
		p = buf_format_u64(p, 12345678901234);
		p = json_format_part(p, part, sizeof(part), strlen(part));
		p = JSON_FORMAT_KEY_I64(p, "value", -i);
		json_end(&j, JSON_FORMAT_RAW(p, "}"), true);
	}
	json_u64(&j, 7);
	json_close(&j, ']');
	is_str(buf_str(&out),
	       "[{\"ts\":12345678901234,\"name\":\"x\",\"value\":0},"
	       "{\"ts\":12345678901234,\"name\":\"x\",\"value\":-1},7]",
	       "what is written by hand stands among what is not, with its commas");
}

int main(void)
{
	if (buf_init(&out, -1, 64))
		abort();
	test_strings();
	test_long_strings();
	test_room();
	test_numbers();
	test_words();
	test_doubles();
	test_nesting();
	test_depth();
	test_format();
	buf_done(&out);
	return tap_done();
}
