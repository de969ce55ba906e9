/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that a recorder has named by a module, an offset and a build id. */
#include "source/file/mem_modules.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"
#include "elf/symbols.h"
#include "tests/tap.h"

#define OTHER_ID "00112233445566778899aabbccddeeff00112233"

static char exe[4096], build_id[2 * SYMBOLS_BUILD_ID_BYTES + 1];
static uint64_t own_offset; /* of test_own() in the file */

/* One frame, as text: what is known of its innermost position. */
static const char *found(struct mem_modules *m, const char *file, const char *function)
{
	static char text[8192];
	struct ebt_memtrace_location frame = {.file = (char *)file, .function = (char *)function};
	struct ebt_memtrace_location *l = NULL;
	size_t n = mem_modules_find(m, &frame, &l);
	snprintf(text, sizeof(text), "none");
	if (n)
		snprintf(text, sizeof(text), "%s@%s", l[n - 1].function, l[n - 1].file);
	free(l);
	return text;
}

static const char *named(uint64_t offset, const char *id)
{
	static char text[256];
	snprintf(text, sizeof(text), "0x%llx%s%s", (unsigned long long)offset, *id ? ":" : "", id);
	return text;
}

static void test_own(struct mem_modules *m)
{
	const char *got = found(m, exe, named(own_offset, build_id));
	ok(!strncmp(got, "test_own@", 9) && strstr(got, "test_mem_modules"),
	   "a frame of a module has its function: %s", got);
	ok(!mem_modules_changed(m), "of a module that is as it was");
	char want[64];
	snprintf(want, sizeof(want), "test_mem_modules+0x%llx@test_mem_modules",
		 (unsigned long long)own_offset + (1ull << 40));
	is_str(found(m, exe, named(own_offset + (1ull << 40), build_id)), want,
	       "an offset behind all functions has its place in the module");
	ok(!mem_modules_changed(m), "which is no fault of the module");
	is_str(found(m, NULL, "f"), "f@", "a frame without a file is as it was");
	is_str(found(m, "a.ml", NULL), "??@a.ml", "and one without a function");
	is_str(found(m, "a.ml", "f"), "f@a.ml", "and one that is not named by a module");
}

static void test_others(struct mem_modules *m)
{
	is_str(found(m, "/nowhere/lib.so", named(0x1234, OTHER_ID)), "lib.so+0x1234@lib.so",
	       "of a module that is not there a frame has its place, too");
	is_str(mem_modules_changed(m), "/nowhere/lib.so", "it is reported");
	ok(strncmp(found(m, exe, named(own_offset, OTHER_ID)), "test_own@", 9) != 0,
	   "nothing is read from a module with another build id");
	is_str(mem_modules_changed(m), exe, "which is reported, too");
	ok(strncmp(found(m, exe, named(own_offset, "")), "test_own@", 9) != 0,
	   "nor where the frame has none");
	ok(!strncmp(found(m, exe, named(own_offset, build_id)), "test_own@", 9),
	   "the right one beside it is read");
	char longer[sizeof(build_id) + 2], *slash = strrchr(exe, '/');
	snprintf(longer, sizeof(longer), "%s00", build_id);
	ok(strncmp(found(m, exe, named(own_offset, longer)), "test_own@", 9) != 0,
	   "one with a longer build id is another");
	*slash = 0;
	if (chdir(exe))
		abort();
	*slash = '/';
	is_str(found(m, slash + 1, named(0x12, build_id)), "test_mem_modules+0x12@test_mem_modules",
	       "a path that is not absolute is no file, whatever lies there");
	ok(strncmp(found(m, slash + 1, named(own_offset, build_id)), "test_own@", 9) != 0,
	   "nothing is read from it");
}

static void test_names(void)
{
	char long_id[2 * SYMBOLS_BUILD_ID_BYTES + 8] = "0x1:";
	memset(long_id + 4, 'a', 2 * SYMBOLS_BUILD_ID_BYTES);
	const struct {
		const char *function;
		bool is_named;
	} row[] = {
		{"0x1:ab", true},   {"0x1", true},     {"0xdeadbeef:", true}, {"0x", false},
		{"0x:ab", false},   {"1:ab", false},   {"0x1:a", false},      {"0x1:ag", false},
		{"0x1:ab ", false}, {"0xA:ab", false}, {"", false},	      {long_id, true},
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct ebt_memtrace_location frame = {.file = "/lib.so",
						      .function = (char *)row[i].function};
		ok(mem_modules_named(&frame) == row[i].is_named, "'%.12s' is %sa name by a module",
		   row[i].function, row[i].is_named ? "" : "not ");
	}
	strcat(long_id, "bb");
	struct ebt_memtrace_location frame = {.file = "/lib.so", .function = long_id};
	ok(!mem_modules_named(&frame), "a build id that is too long makes it none");
	frame = (struct ebt_memtrace_location){.file = "", .function = "0x1:ab"};
	ok(!mem_modules_named(&frame), "nor is it one without a file");
}

int main(void)
{
	uint8_t id[SYMBOLS_BUILD_ID_BYTES];
	struct mem_modules *m;
	struct elf *e;
	extern const char __ehdr_start[];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (n < 0 || fd < 0 || elf_open(fd, &e) || mem_modules_new(NULL, &m))
		abort();
	exe[n] = 0;
	size_t bytes = elf_build_id(e, id, sizeof(id));
	for (size_t i = 0; i < bytes; i++)
		snprintf(build_id + 2 * i, 3, "%02x", id[i]);
	own_offset = elf_offset(e, (uintptr_t)test_own - (uintptr_t)__ehdr_start) + 1;
	elf_close(e);
	close(fd);
	test_own(m);
	test_others(m);
	test_names();
	mem_modules_free(m);
	return tap_done();
}
