/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/mappings.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static void add(struct mappings *m, uint64_t start, uint64_t end, const char *path)
{
	if (mappings_add(m, start, end, path))
		abort();
}

static const char *name_at(const struct mappings *m, uint64_t start, uint64_t end)
{
	const struct mapping *k = mappings_find(m, start, end);
	return k ? k->name : "none";
}

static void test_names(void)
{
	static const struct {
		const char *path, *name, *what;
	} rows[] = {
		{"/usr/lib/libc.so.6", "libc.so.6", "a file has the last part of its path"},
		{"[heap]", "[heap]", "what the kernel names has that name"},
		{"[anon:a/b]", "[anon:a/b]", "also with a slash"},
		{"/dev/zero", "/dev/zero", "a device has its whole path"},
		{"/tmp/", "/tmp/", "a path without a last part is whole"},
		{"/tmp/a\x1b[2J\xff", "a?[2J\xef\xbf\xbd", "no name controls a terminal"},
		{"/x/0123456789012345678901234567890123456789012345\xc3\xa9t\xc3\xa9",
		 "0123456789012345678901234567890123456789012345",
		 "a long one is cut between characters"},
		{"", "none", "without a path there is none"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mappings m = {0};
		add(&m, 0x1000, 0x2000, rows[i].path);
		is_str(name_at(&m, 0x1000, 0x2000), rows[i].name, rows[i].what);
		mappings_done(&m);
	}
}

static void test_ranges(void)
{
	struct mappings m = {0}, copy;
	add(&m, 0x1000, 0x2000, "/a");
	add(&m, 0x2000, 0x4000, "/a");
	add(&m, 0x1000, 0x3000, "/a");
	is(m.count, 1, "parts of a file that touch are one mapping");
	is(m.at[0].end, 0x4000, "with the end of the last");
	add(&m, 0x8000, 0x9000, "/a");
	is(m.count, 2, "others are not");
	add(&m, 0x3000, 0x3800, "/b");
	is_str(name_at(&m, 0x3000, 0x3400), "b", "of two as large the newest is found");
	is_str(name_at(&m, 0x1000, 0x4000), "a", "else the larger part");
	is_str(name_at(&m, 0x4000, 0x8000), "none", "between them there is none");
	ok(!mappings_copy(&copy, &m) && copy.count == 3 && copy.at != m.at &&
		   !memcmp(copy.at, m.at, 3 * sizeof(*m.at)),
	   "a copy has the same");
	mappings_done(&copy);
	for (uint64_t i = 0; i < 2 * MAPPINGS_MAX; i++)
		add(&m, 0x100000 * (i + 1), 0x100000 * (i + 1) + 1, "[x]");
	is(m.count, MAPPINGS_MAX, "there is a limit");
	mappings_done(&m);
}

int main(void)
{
	test_names();
	test_ranges();
	return tap_done();
}
