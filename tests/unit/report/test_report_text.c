/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of reports as text, at the ends of each unit, and the lines about what is lost. */
#include "report/text.h"

#include <string.h>

#include "tests/tap.h"

static void test_units(void)
{
	static const struct {
		double value;
		const char *bytes, *ns;
	} rows[] = {
		{0, "0 B", "0 ns"},
		{999, "999 B", "999 ns"},
		{1000, "1000 B", "1.000 us"},
		{1023, "1023 B", "1.023 us"},
		{1024, "1.0 KiB", "1.024 us"},
		{1536, "1.5 KiB", "1.536 us"},
		{999999, "976.6 KiB", "999.999 us"},
		{1e6, "976.6 KiB", "1.000 ms"},
		{1 << 20, "1.0 MiB", "1.049 ms"},
		{1e9, "953.7 MiB", "1.000 s"},
		{1 << 30, "1.0 GiB", "1.074 s"},
		{3.6e12, "3.3 TiB", "3600.000 s"},
		{1125899906842624.0, "1.0 PiB", "1125899.907 s"},
		{1152921504606846976.0, "1024.0 PiB", "1152921504.607 s"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		is_str(report_bytes_text(rows[i].value).text, rows[i].bytes, rows[i].bytes);
		is_str(report_ns_text(rows[i].value).text, rows[i].ns, rows[i].ns);
	}
	ok(report_percent(1, 4) == 25 && report_percent(3, 0) == 0 && report_percent(0, 4) == 0,
	   "a share is in per cent, and none of nothing");
}

static void test_print(void)
{
	struct buf b;
	char long_text[400];
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = 0;
	if (buf_init(&b, -1, 16))
		abort();
	report_print(&b, "%s", "some");
	report_print(&b, "%d%s", 1, long_text);
	is(strlen(buf_str(&b)), 4 + 255, "what is printed at once has 255 bytes at most");
	ok(!strncmp(buf_str(&b), "some1xx", 7), "one behind the other");
	buf_done(&b);
}

static void test_loss(void)
{
	static const struct {
		struct totals totals;
		const char *want;
	} rows[] = {
		{{0}, ""},
		{{.lost_events = 12}, "Not all is counted: 12 lost\n"},
		{{.damaged = 1}, "Not all is counted: 1 place of the input is damaged\n"},
		{{.damaged = 2}, "Not all is counted: 2 places of the input are damaged\n"},
		{{.damaged = 1, .lost_allocs = 1},
		 "Not all is counted: 1 place of the input is damaged, with 1 sampled allocation "
		 "or "
		 "more\n"},
		{{.damaged = 1, .lost_allocs = 2},
		 "Not all is counted: 1 place of the input is damaged, with 2 sampled allocations "
		 "or "
		 "more\n"},
		{{.lost_events = 1, .damaged = 1},
		 "Not all is counted: 1 lost\n"
		 "Not all is counted: 1 place of the input is damaged\n"},
		{{.history_events = 5}, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct session *s;
		struct buf b;
		if (session_new(&s) || buf_init(&b, -1, 16))
			abort();
		s->totals = rows[i].totals;
		report_put_loss(&b, s);
		is_str(b.len ? buf_str(&b) : "", rows[i].want,
		       *rows[i].want ? rows[i].want : "nothing is lost: no line");
		buf_done(&b);
		session_free(s);
	}
}

int main(void)
{
	test_units();
	test_print();
	test_loss();
	return tap_done();
}
