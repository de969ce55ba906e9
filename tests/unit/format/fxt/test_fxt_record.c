/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of records, as the format has them, and the limits of what is kept: the last that fits, and
 * the next one. */
#include "format/fxt/record.h"

#include "tests/tap.h"

#define INLINE 0x8000u

static struct buf out;
static struct fxt_record record;

static void begin(void)
{
	memset(&record, 0, sizeof(record));
	if (buf_init(&out, -1, 1 << 20) || fxt_record_init(&record, &out))
		abort();
}

static void finish(void)
{
	fxt_record_done(&record);
	buf_done(&out);
}

/* The words written since the last call, in hexadecimal digits. */
static const char *written(void)
{
	static char text[1024];
	size_t len = 0;
	text[0] = '\0';
	for (size_t at = 0; at < out.len; at += 8) {
		uint64_t word;
		memcpy(&word, out.data + at, 8);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llx", at ? " " : "",
					(unsigned long long)word);
	}
	out.len = 0;
	return text;
}

/* A string of a length, which differs from those of other numbers. */
static uint16_t ref_of(unsigned number, int len)
{
	char text[FXT_NAME_BYTES];
	struct fxt_string s;
	snprintf(text, sizeof(text), "%0*u", len, number);
	fxt_record_string(&record, text, &s);
	return s.ref;
}

static void test_strings(void)
{
	unsigned wrong = 0;
	begin();
	is(ref_of(7, 8), 1, "the first string is the first of the table");
	is_str(written(), "800010022 3730303030303030", "and is written, its length in bytes");
	is(ref_of(8, 9), 2, "the next is the second");
	is_str(written(), "900020032 3030303030303030 38", "in whole words");
	ok(ref_of(7, 8) == 1 && !out.len, "one that is known is not written again");
	for (unsigned i = 3; i <= FXT_STRINGS; i++)
		wrong += ref_of(i + 100, 6) != i;
	is(wrong, 0, "as many have a place as the table has");
	out.len = 0;
	ok(ref_of(99999, 6) == (INLINE | 6) && !out.len, "and one more has none");
	is(ref_of(FXT_STRINGS + 100, 6), FXT_STRINGS, "while the last one is found");
	finish();
	begin();
	char text[FXT_NAME_BYTES + 50] = "";
	struct fxt_string s;
	memset(text, 'x', sizeof(text) - 1);
	fxt_record_string(&record, text, &s);
	ok(record.pool_used <= FXT_NAME_BYTES && record.pool_used > FXT_NAME_BYTES - 8 &&
		   !memcmp(record.pool + record.pool_used - 4, "x\xe2\x80\xa6", 4),
	   "a string that is too long ends in an ellipsis");
	finish();
}

/* Lengths that fill the memory of the texts to its last byte. */
static void test_pool(void)
{
	unsigned wrong = 0, n = FXT_STRING_BYTES / 128;
	begin();
	for (unsigned i = 1; i <= n; i++)
		wrong += ref_of(i, 128) != i;
	is(wrong, 0, "texts are kept up to the last byte");
	is(ref_of(5, 1), INLINE | 1, "behind that none is, however short");
	finish();
	begin();
	ok(ref_of(1, 1) == 1, "with one byte taken");
	for (unsigned i = 2; i <= n; i++)
		ref_of(i, 128);
	is(ref_of(n + 1, 128), INLINE | 128, "the last does not fit");
	is(ref_of(n + 1, 127), n + 1, "but for one that is a byte shorter");
	finish();
}

static void test_arguments(void)
{
	static const struct fxt_string category = {.ref = 0x1234}, name = {.ref = 0x2345};
	struct fxt_thread thread = {.index = 200, .process = 71, .thread = 72};
	begin();
	fxt_record_event(&record, FXT_COUNTER, 77, &thread, &category, &name);
	fxt_record_close(&record);
	is_str(written(), "23451234c8010024 4d", "an event has its names and its thread");
	thread.index = FXT_THREADS;
	fxt_record_event(&record, FXT_INSTANT, 77, &thread, &category, &name);
	fxt_record_close(&record);
	is_str(written(), "23451234ff000024 4d", "the last thread that has an index, too");
	fxt_record_thread(&record, &thread);
	is_str(written(), "ff0033 47 48", "of which the index is written");
	thread.index++;
	fxt_record_event(&record, FXT_INSTANT, 77, &thread, &category, &name);
	fxt_record_close(&record);
	is_str(written(), "2345123400000044 4d 47 48", "others are written out");
	fxt_record_thread(&record, &thread);
	is_str(written(), "", "and have no record");
	fxt_record_literal(&record, "k", &(struct fxt_string){0});
	out.len = 0;
	fxt_record_object(&record, FXT_THREAD_OBJECT, 73, &name);
	fxt_record_u64(&record, "k", UINT32_MAX);
	fxt_record_u64(&record, "k", UINT32_MAX + 1ull);
	fxt_record_i64(&record, "k", INT32_MAX);
	fxt_record_i64(&record, "k", INT32_MAX + 1ll);
	fxt_record_i64(&record, "k", INT32_MIN);
	fxt_record_i64(&record, "k", INT32_MIN - 1ll);
	fxt_record_koid(&record, "k", 74);
	fxt_record_close(&record);
	is_str(written(),
	       "723450200d7 49 ffffffff00010012 10024 100000000 7fffffff00010011 10023 80000000 "
	       "8000000000010011 10023 ffffffff7fffffff 10028 4a",
	       "numbers have the width that they need");
	fxt_record_object(&record, FXT_PROCESS_OBJECT, 73, &name);
	fxt_record_text(&record, "k", "12345678", 8);
	fxt_record_text(&record, "k", "", 0);
	fxt_record_hex(&record, "k", "\xab\x01", 2);
	fxt_record_hex(&record, "k", "", 0);
	fxt_record_close(&record);
	is_str(written(),
	       "42345010087 49 800800010026 3837363534333231 10016 800400010026 31306261 10016",
	       "texts and bytes have their lengths");
	finish();
}

static uint64_t word_of(size_t at)
{
	uint64_t word;
	memcpy(&word, out.data + 8 * at, 8);
	return word;
}

/* Of the table no place is left: names are written out in each record. */
static void test_inline(void)
{
	struct fxt_string category, name;
	const struct fxt_thread thread = {.index = 3};
	begin();
	for (unsigned i = 1; i <= FXT_STRINGS; i++)
		ref_of(i, 6);
	out.len = 0;
	fxt_record_string(&record, "ninebytes", &category);
	fxt_record_string(&record, "name", &name);
	fxt_record_event(&record, FXT_DURATION_END, 77, &thread, &category, &name);
	fxt_record_u64(&record, "key", 5);
	fxt_record_name(&record, "key", "value");
	fxt_record_close(&record);
	is_str(written(),
	       "80048009032300a4 4d 65747962656e696e 73 656d616e 580030022 79656b 800580030036 "
	       "79656b 65756c6176",
	       "those of an event, of an argument and of its value");
	fxt_record_object(&record, FXT_PROCESS_OBJECT, 73, &name);
	fxt_record_close(&record);
	is_str(written(), "8004010037 49 656d616e", "and that of an object");
	finish();
}

static void test_preamble(void)
{
	begin();
	fxt_record_preamble(&record, "abcdefghi");
	is_str(written(), "16547846040010 90000000110030 6867666564636261 69 21 3b9aca00",
	       "a trace begins with the magic number, its provider and nanoseconds");
	finish();
}

/* The format's limits of a value and of a record. */
static void test_long(void)
{
	static char text[FXT_VALUE_BYTES + 2];
	static const struct fxt_string name = {.ref = 1};
	begin();
	memset(text, 'x', sizeof(text) - 1);
	fxt_record_literal(&record, "k", &(struct fxt_string){0});
	for (size_t more = 0; more < 3; more++) {
		size_t wanted = FXT_VALUE_BYTES - 1 + (more ? 1 : 0), words = (wanted + 7) / 8;
		out.len = 0;
		fxt_record_object(&record, FXT_PROCESS_OBJECT, 73, &name);
		fxt_record_text(&record, "k", text, FXT_VALUE_BYTES - 1 + more);
		fxt_record_close(&record);
		ok(out.len == 8 * (3 + words) &&
			   word_of(2) == ((INLINE | wanted) << 32 | 1 << 16 | (1 + words) << 4 | 6),
		   "a text has at most the bytes that a value has: %zu", wanted);
	}
	for (size_t more = 0; more < 2; more++) {
		size_t half = FXT_VALUE_BYTES / 2;
		out.len = 0;
		fxt_record_object(&record, FXT_PROCESS_OBJECT, 73, &name);
		fxt_record_hex(&record, "k", text, half - 1 + 2 * more);
		fxt_record_close(&record);
		is(word_of(2) >> 32, INLINE | 2 * (half - (more ? 0 : 1)),
		   "and so has one of digits");
	}
	for (unsigned words = FXT_RECORD_WORDS - 1; words <= FXT_RECORD_WORDS + 1; words++) {
		unsigned most = words < FXT_RECORD_WORDS ? words : FXT_RECORD_WORDS;
		out.len = 0;
		fxt_record_object(&record, FXT_PROCESS_OBJECT, 73, &name);
		for (unsigned i = 2; i < words; i++)
			fxt_record_word(&record, i);
		fxt_record_close(&record);
		ok(out.len == 8 * most && (word_of(0) >> 4 & 0xfff) == most &&
			   word_of(most - 1) == most - 1,
		   "a record of %u words has %u", words, most);
	}
	finish();
}

int main(void)
{
	test_inline();
	test_preamble();
	test_long();
	test_strings();
	test_pool();
	test_arguments();
	return tap_done();
}
