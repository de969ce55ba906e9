// SPDX-License-Identifier: BSD-2-Clause
/* Names of addresses, by a search through the lines of the file. */
#include "proc/kallsyms.h"

#include "tests/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/test_kallsyms.XXXXXX";

static int read_text(const char *text, struct kallsyms **ret)
{
	FILE *f = fopen(path, "w");
	*ret = NULL;
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
	return kallsyms_read(path, ret);
}

static void finds(const struct kallsyms *k, uint64_t address, const char *want, const char *name)
{
	const char *got = kallsyms_find(k, address);
	is_str(got ? got : "none", want, name);
}

static void test_lines(void)
{
	struct kallsyms *k;
	int err = read_text("ffffffff81000100 T second\n"
			    "ffffffff81000000 T first\n"
			    "ffffffff81000000 T first_again\n"
			    "ffffffff81000180 d data\n"
			    "ffffffff81000200 t third.isra.0\n"
			    "ffffffffc0000000 w of_module\t[module]\n"
			    "0000000000000010 A fixed\n"
			    "not a line\n"
			    "ffffffff81000300 T\n"
			    "ffffffff81000400 T \n"
			    "ffffffff81000500",
			    &k);
	ok(!err && kallsyms_count(k) == 5, "functions of a file are read, and nothing else");
	finds(k, 0xffffffff80ffffff, "none", "before the first one there is none");
	finds(k, 0xffffffff81000000, "first", "of two names the first of the file is taken");
	finds(k, 0xffffffff810000ff, "first", "a function ends where the next one begins");
	finds(k, 0xffffffff81000100, "second", "lines need no order");
	finds(k, 0xffffffff810001ff, "second", "data is no function");
	finds(k, 0xffffffff81000210, "third.isra.0", "a part of a function has its own name");
	finds(k, 0xffffffffc0001000, "of_module", "a module's function has no name of the module");
	finds(k, UINT64_MAX, "of_module", "the last one has no end");
	kallsyms_free(k);
}

static void test_refusals(void)
{
	struct kallsyms *k;
	ok(read_text("0000000000000000 T first\n0000000000000000 T second\n", &k) == -EACCES && !k,
	   "without addresses they are hidden from us");
	ok(read_text("", &k) == -EACCES && !k, "and so are those of an empty file");
	unlink(path);
	ok(kallsyms_read(path, &k) == -ENOENT, "a file that is not there is an error");
	kallsyms_free(NULL);
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	test_lines();
	test_refusals();
	return tap_done();
}
