/* SPDX-License-Identifier: BSD-2-Clause */
/* base: the buffer, the thread that writes, text for terminals. */
#include "base/buf.h"
#include "base/ending.h"
#include "base/utf8.h"
#include "base/writer.h"
#include "base/xml.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void test_full_disk(void)
{
	int fd = open("/dev/full", O_WRONLY);
	struct buf b;
	buf_init(&b, fd, 4096);
	for (int i = 0; i < 10000; i++)
		buf_puts(&b, "0123456789");
	is(buf_flush(&b), -ENOSPC, "a full disk is told at the end");
	buf_done(&b);
	buf_init_behind(&b, fd, 4096, 1 << 16);
	for (int i = 0; i < 100000; i++)
		buf_puts(&b, "0123456789");
	is(buf_finish(&b), -ENOSPC, "also by the thread that writes, which does not wait for room");
	buf_done(&b);
	close(fd);
}

/* A reader that takes its time: every byte arrives, in order, and ready() says when to pause. */
static void test_slow_reader(const char *when)
{
	int fds[2], busy = 0, good = 1;
	if (pipe(fds))
		abort();
	struct buf b;
	buf_init_behind(&b, fds[1], 4096, 1 << 17);
	uint32_t next = 0, seen = 0;
	while (next < 100000) {
		while (next < 100000 && buf_ready(&b)) {
			buf_put(&b, &next, sizeof(next));
			next++;
		}
		busy += !buf_ready(&b);
		uint32_t got[4096];
		ssize_t n = read(fds[0], got, sizeof(got));
		for (ssize_t i = 0; i < n / 4; i++)
			good &= got[i] == seen++;
		if (n % 4)
			good = 0;
	}
	buf_flush(&b);
	for (uint32_t got; seen < next && read(fds[0], &got, sizeof(got)) == sizeof(got);)
		good &= got == seen++;
	ok(good && seen == next, "%s a slow reader gets every byte in order", when);
	ok(busy > 0, "%s whoever writes is told to do something else meanwhile", when);
	ok(!buf_finish(&b), "%s there is no error", when);
	buf_done(&b);
	close(fds[0]);
	close(fds[1]);
}

#define STREAM (8 << 20)

/* Reads all, in pieces of any size; NULL: a byte was not the expected one. */
static void *check_stream(void *fd)
{
	static char got[100000];
	size_t seen = 0;
	unsigned seed = 5;
	int good = 1;
	for (ssize_t n; (n = read(*(int *)fd, got, 1 + (size_t)rand_r(&seed) % sizeof(got))) > 0;)
		for (ssize_t i = 0; i < n; i++)
			good &= got[i] == (char)(seen++ * 2654435761u >> 20);
	return good && seen == STREAM ? fd : NULL;
}

/* Blocks that change hands, blocks that are copied, and pieces larger than either. */
static void test_blocks(void)
{
	static char pieces[STREAM];
	int fds[2];
	pthread_t reader;
	struct buf b;
	void *good;
	for (size_t i = 0; i < STREAM; i++)
		pieces[i] = (char)(i * 2654435761u >> 20);
	if (pipe(fds) || pthread_create(&reader, NULL, check_stream, &fds[0]) ||
	    buf_init_behind(&b, fds[1], 32768, 1 << 19))
		abort();
	srand(3);
	for (size_t at = 0; at < STREAM;) {
		size_t n = 1 + (size_t)rand() % (rand() % 50 ? 500 : 200000);
		n = n < STREAM - at ? n : STREAM - at;
		buf_put(&b, pieces + at, n);
		at += n;
		if (rand() % 100 == 0)
			buf_flush(&b);
	}
	is(buf_finish(&b), 0, "a stream is written, with flushes at any place");
	is(b.passed, STREAM, "of that many bytes");
	buf_done(&b);
	close(fds[1]);
	pthread_join(reader, &good);
	ok(good, "every byte arrives, in order, whatever came in one block");
	close(fds[0]);
}

static size_t plain(const char *s)
{
	return utf8_plain(s, strlen(s));
}

static bool copies(const char *s, size_t cap, const char *want, bool want_cut)
{
	char to[16];
	bool cut;
	size_t n = utf8_copy(to, cap, s, strlen(s), &cut);
	return n == strlen(want) && !memcmp(to, want, n) && cut == want_cut;
}

static void test_utf8_copy(void)
{
	ok(copies("abc", 3, "abc", false) && copies("abcd", 3, "abc", true),
	   "a text of as many bytes as there is room for is whole, a longer one is cut");
	ok(copies("ab\xc3\xa9", 4, "ab\xc3\xa9", false),
	   "so is one that a letter of two bytes fills");
	ok(copies("ab\xc3\xa9", 3, "ab", true), "and no letter is cut in two");
	ok(copies("a\xff", 4, "a" UTF8_REPLACEMENT, false) && copies("a\xff", 3, "a", true),
	   "what is no UTF-8 is replaced, if there is room");
}

/* The first and the last code of each length, the surrogates, and the codes beside them. */
static void test_put_plain(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", ""},
		{"plain", "plain"},
		{"\033[2J", "?[2J"},
		{"a\nb\t", "a?b?"},
		{"\xff\xfez", "??z"},
		{"\xc3\xa9\xc3", "\xc3\xa9?"},
		{"\xe2\x80\xaez", "???z"},
	};
	struct buf b;
	buf_init(&b, -1, 4096);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		b.len = 0;
		buf_put_plain(&b, rows[i].text);
		ok(!strcmp(buf_str(&b), rows[i].want),
		   "a text of a traced program, row %zu: what a terminal obeys is a question mark",
		   i);
	}
	buf_done(&b);
}

static void test_utf8_limits(void)
{
	static const struct {
		const char *bytes;
		unsigned length;
	} row[] = {
		{"\x7f", 1},
		{"\x80", 0},
		{"\xc1\xbf", 0},
		{"\xc2\x80", 2},
		{"\xdf\xbf", 2},
		{"\xe0\x9f\xbf", 0},
		{"\xe0\xa0\x80", 3},
		{"\xed\x9f\xbf", 3},
		{"\xed\xa0\x80", 0},
		{"\xed\xbf\xbf", 0},
		{"\xee\x80\x80", 3},
		{"\xef\xbf\xbf", 3},
		{"\xf0\x8f\xbf\xbf", 0},
		{"\xf0\x90\x80\x80", 4},
		{"\xf4\x8f\xbf\xbf", 4},
		{"\xf4\x90\x80\x80", 0},
		{"\xf7\xbf\xbf\xbf", 0},
		{"\xf8\x88\x80\x80", 0},
		{"\xff", 0},
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const unsigned char *s = (const unsigned char *)row[i].bytes;
		size_t n = strlen(row[i].bytes);
		ok(utf8_length(s, n) == row[i].length && !(n > 1 && utf8_length(s, n - 1)),
		   "the %zu bytes that begin with %02x %02x are %s", n, s[0], s[1],
		   row[i].length ? "a letter, and none without the last one" : "no letter");
	}
}

static void test_utf8_plain(void)
{
	is(plain("caf\xc3\xa9 \xe2\x98\x95"), 9, "letters of any script may reach a terminal");
	is(plain("a\x1b[2J"), 1, "an escape may not");
	is(plain("ab\x7f"), 2, "nor a delete");
	is(plain("a\xc2\x9b[2J"), 1, "nor the escape that UTF-8 has in two bytes");
	is(plain("a\xc2\x9f"), 1, "nor the last one of those");
	is(plain("a\xc2\xa0"), 3, "what follows those two bytes' range may");
	is(plain("\x9b[2J"), 0, "nor a byte that is no UTF-8");
	static const char *const bidi[] = {"\xd8\x9c",	   "\xe2\x80\x8e", "\xe2\x80\x8f",
					   "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6",
					   "\xe2\x81\xa9"};
	size_t shown = 0;
	for (size_t i = 0; i < sizeof(bidi) / sizeof(*bidi); i++)
		shown += plain(bidi[i]);
	is(shown, 0, "nor a control of the direction of text");
	is(plain("\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xd8\x9b"), 17,
	   "their neighbours may");
}

/* Against printf: numbers near each other and far apart, around every power of ten. */
static void test_near(void)
{
	struct buf_high high = {0};
	char text[48], want[48];
	bool good = true;
	for (unsigned round = 0; round < 2; round++) {
		uint64_t power = 1;
		for (unsigned digits = 0; digits < 20; digits++, power *= 10) {
			for (int d = -2; d <= 2; d++) {
				uint64_t v = power + (uint64_t)d;
				*buf_format_near(text, v, &high) = 0;
				snprintf(want, sizeof(want), "%llu", (unsigned long long)v);
				good &= !strcmp(text, want);
			}
		}
		*buf_format_near(text, UINT64_MAX, &high) = 0;
		good &= !strcmp(text, "18446744073709551615");
	}
	ok(good, "numbers are formatted right, with the high digits kept or not");
	static const uint32_t parts[] = {0, 7, 99, 100, 12345, 9999999, 10000000, 99999999};
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *end = buf_format_eight(text, parts[i]);
		*end = 0;
		snprintf(want, sizeof(want), "%08u", parts[i]);
		good &= !strcmp(text, want);
	}
	ok(good, "a part of a number has eight digits, zeros first");
}

#define UNREAD_BYTES 300000 /* more than a pipe holds */
#define WRITE_BYTES  16384  /* of one write to a pipe */

static void put_unread(struct buf *b, int to)
{
	static const char zeros[UNREAD_BYTES];
	buf_init_behind(b, to, 4096, UNREAD_BYTES);
	buf_put(b, zeros, sizeof(zeros)); /* which is being written */
	buf_put(b, zeros, sizeof(zeros));
}

/* Reads what a pipe holds and what is still written to it. Returns its bytes. */
static size_t drain(int from)
{
	static char bytes[4096];
	struct pollfd p = {.fd = from, .events = POLLIN};
	size_t got = 0;
	while (poll(&p, 1, 100) > 0) {
		ssize_t n = read(from, bytes, sizeof(bytes));
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

/* Without the signal, each of these calls waits for ever. */
static void test_no_reader(void)
{
	int fds[2], held = 0;
	struct buf b;
	sigset_t term, old;
	if (pipe(fds))
		abort();
	put_unread(&b, fds[1]);
	is(buf_given_up(&b), 0, "nothing is given up before a signal");
	ending_ask();
	is(buf_finish(&b), -ECANCELED,
	   "after a signal, an output that accepts nothing is given up");
	/* Of the write that waits nobody knows how much of it was accepted. */
	uint64_t accepted = 2 * UNREAD_BYTES - buf_given_up(&b);
	ok(!ioctl(fds[0], FIONREAD, &held) && (uint64_t)held >= accepted &&
		   (uint64_t)held <= accepted + WRITE_BYTES,
	   "what it had not accepted is counted");
	buf_done(&b);
	drain(fds[0]);
	put_unread(&b, fds[1]);
	buf_done(&b);
	ok(drain(fds[0]) < UNREAD_BYTES,
	   "and so is one that nobody finishes: the write that waited is the last one");
	put_unread(&b, fds[1]);
	while (!buf_ready(&b))
		;
	buf_puts(&b, "later");
	is(buf_flush(&b), -ECANCELED, "whoever asks whether it is ready notices as well");
	buf_done(&b);
	ending_forget();

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &old);
	kill(getpid(), SIGTERM);
	put_unread(&b, fds[1]);
	buf_puts(&b, "later");
	is(buf_flush(&b), -ECANCELED, "a signal that is pending ends a wait for room");
	buf_done(&b);
	sigwaitinfo(&term, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fds[0]);
	close(fds[1]);
}

static void xml_is(const char *text, const char *want, const char *name)
{
	struct buf b;
	buf_init(&b, -1, 4096);
	xml_put(&b, text, strlen(text));
	is_str(buf_str(&b), want, name);
	buf_done(&b);
}

#define NO UTF8_REPLACEMENT

static void test_xml(void)
{
	xml_is("a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;", "marks of XML are written by name");
	xml_is("\x1f-\x20-\x7f", NO "-\x20-" NO, "controls are replaced");
	xml_is("\xc2\x80-\xc2\x9f-\xc2\xa0", NO "-" NO "-\xc2\xa0", "those of two bytes, too");
	xml_is("\xe2\x80\xa7-\xe2\x80\xa8-\xe2\x80\xa9-\xe2\x80\xaa-\xe2\x80\xae-\xe2\x80\xaf",
	       "\xe2\x80\xa7-" NO "-" NO "-" NO "-" NO "-\xe2\x80\xaf",
	       "separators of lines and marks of direction are");
	xml_is("\xe2\x81\xa5-\xe2\x81\xa6-\xe2\x81\xa9-\xe2\x81\xaa",
	       "\xe2\x81\xa5-" NO "-" NO "-\xe2\x81\xaa", "and the newer ones");
	xml_is("\xef\xbf\xbd-\xef\xbf\xbe-\xef\xbf\xbf-\xf0\x9f\x98\x80",
	       "\xef\xbf\xbd-" NO "-" NO "-\xf0\x9f\x98\x80", "and what is no character");
	xml_is("\xff\xc3", NO NO, "and bytes that are no text");
}

int main(void)
{
	test_near();
	test_full_disk();
	test_slow_reader("in a run");
	ending_ask();
	test_slow_reader("after a signal");
	ending_forget();
	test_no_reader();
	test_blocks();
	test_utf8_copy();
	test_utf8_plain();
	test_put_plain();
	test_utf8_limits();
	test_xml();
	return tap_done();
}
