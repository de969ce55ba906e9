/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug information that is made to cost: entries that are nested without an end, siblings in a
 * circle, a function that is its own origin. The functions beside have their names.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/elf.h"
#include "elf/symbols.h"
#include "tests/tap.h"

#define SECOND_NS 1000000000ull

static char folder[] = "/tmp/ebt-deep-XXXXXX";

/* A module with two functions in its symbol tables; its debug information has `entries` between
 * the entry of the first one and that of the second one. */
static const char head[] = ".text\n"
			   ".globl symbol_first, symbol_last\n"
			   ".type symbol_first, @function\n"
			   ".type symbol_last, @function\n"
			   ".size symbol_first, 16\n.size symbol_last, 16\n"
			   "symbol_first: .fill 16, 1, 0x90\n"
			   "symbol_last: .fill 16, 1, 0x90\n"
			   "end:\n"
			   ".section .debug_abbrev, \"\", @progbits\n"
			   ".uleb128 1, 0x11\n.byte 1\n.uleb128 0x11, 1, 0x12, 7, 0, 0\n"
			   ".uleb128 2, 0x0b\n.byte 1\n.uleb128 0, 0\n"
			   ".uleb128 3, 0x2e\n.byte 0\n"
			   ".uleb128 3, 8, 0x11, 1, 0x12, 7, 0, 0\n"
			   ".uleb128 4, 0x1d\n.byte 1\n"
			   ".uleb128 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0\n"
			   ".uleb128 5, 0x0b\n.byte 0\n.uleb128 1, 0x13, 0, 0\n"
			   ".byte 0\n"
			   ".section .debug_info, \"\", @progbits\n"
			   "unit: .long unit_end - unit_begin\n"
			   "unit_begin: .short 4\n.long .debug_abbrev\n.byte 8\n"
			   ".uleb128 1\n.quad symbol_first, end - symbol_first\n"
			   ".uleb128 3\n.string \"first\"\n.quad symbol_first, 16\n";
static const char tail[] = ".uleb128 3\n.string \"last\"\n.quad symbol_last, 16\n"
			   ".byte 0\nunit_end:\n";

static void make(const char *entries, char path[64])
{
	char command[256], source[64];
	snprintf(path, 64, "%s/deep.so", folder);
	snprintf(source, sizeof(source), "%s/deep.s", folder);
	FILE *f = fopen(source, "w");
	if (!f || fprintf(f, "%s%s%s", head, entries, tail) < 0 || fclose(f))
		abort();
	snprintf(command, sizeof(command), "as -o %s/deep.o %s && ld -shared -o %s %s/deep.o",
		 folder, source, path, folder);
	if (system(command))
		abort();
}

static uint64_t offset_of(const char *path, const char *name)
{
	struct elf_symbol symbol = {.name = name};
	struct elf *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_open(fd, &elf) || !elf_find(elf, &symbol, 1))
		abort();
	uint64_t offset = elf_offset(elf, symbol.value);
	elf_close(elf);
	close(fd);
	return offset;
}

static void check(const char *entries, const char *want_first, const char *want_last,
		  const char *name)
{
	struct messages silent = {0};
	struct symbols_running running = {.messages = &silent};
	const struct symbols_position *p;
	struct symbols *s;
	char path[64], got[2][64];
	make(entries, path);
	uint64_t begin = now_ns();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (symbols_open(fd, path, &running, &s))
		abort();
	close(fd);
	for (int i = 0; i < 2; i++) {
		unsigned n = symbols_find(
			s, offset_of(path, i ? "symbol_last" : "symbol_first") + 4, &p);
		snprintf(got[i], sizeof(got[i]), "%s",
			 n && p[n - 1].function ? p[n - 1].function : "none");
	}
	uint64_t took = now_ns() - begin;
	ok(!strcmp(got[0], want_first) && !strcmp(got[1], want_last), "%s: %s and %s", name, got[0],
	   got[1]);
	ok(took < 20 * SECOND_NS, "in bounded time: %.3f s", (double)took / 1e9);
	symbols_close(s);
	symbols_running_done(&running);
}

int main(void)
{
	/* What recursion by an entry a level would overflow. */
	setrlimit(RLIMIT_STACK, &(struct rlimit){256 << 10, 256 << 10});
	if (!mkdtemp(folder))
		abort();
	check("", "first", "last", "two functions");
	check(".fill 100, 1, 2\n.fill 100, 1, 0\n", "first", "last", "blocks, 100 deep, beside");
	check(".fill 100000, 1, 2\n.fill 100000, 1, 0\n", "first", "last",
	      "blocks, 100,000 deep, beside");
	check(".fill 100000, 1, 2\n", "first", "symbol_last",
	      "a function that is inside of 100,000 blocks has the name of its symbol");
	check(".rept 20000\n.uleb128 4\n.long self - unit\n.quad symbol_first, 16\n.endr\n"
	      ".fill 20000, 1, 0\nself: .uleb128 3\n.string \"\"\n.quad 0, 0\n",
	      "none", "last", "functions inlined in each other");
	check("self: .uleb128 5\n.long self - unit\n", "first", "symbol_last",
	      "a block that is its own sibling hides those behind it alone");
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? 1 : tap_done();
}
