/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/version.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"

/* Newest first: a release has the functions of those before it. */
static const struct {
	const char *symbol;
	uint16_t minor;
} marks[] = {
	{"caml_sys_get_stdlib_dirs", 5},       {"caml_ml_gc_ramp_up", 4},
	{"caml_ml_runtime_events_path", 3},    {"caml_runtime_events_are_active", 2},
	{"caml_runtime_events_user_write", 1}, {"caml_ev_begin", 0},
};
#define MAX_SCANNED	 (256u << 20) /* of a file that are searched for a string */
#define FIRST_MAGIC_OF_5 32	      /* 4.14 writes Caml1999X031 */
#define MARKS		 (sizeof(marks) / sizeof(marks[0]))

struct runtime_version ocaml_version_read_elf(struct elf *elf)
{
	struct elf_symbol symbol[MARKS + 1] = {0};
	for (unsigned i = 0; i < MARKS; i++)
		symbol[i].name = marks[i].symbol;
	symbol[MARKS].name = "caml_eventlog_init";
	elf_find(elf, symbol, MARKS + 1);
	/* The instrumented runtime of OCaml 4 has some of the names, but no rings. */
	if (!symbol[MARKS - 1].found || symbol[MARKS].found)
		return (struct runtime_version){0};
	unsigned newest = 0;
	while (!symbol[newest].found)
		newest++;
	return (struct runtime_version){&language_ocaml.traits, 5, marks[newest].minor};
}

/* Every native program of OCaml contains it, and every interpreter of its bytecode. */
bool ocaml_version_is_4(int fd)
{
	struct elf *elf;
	struct elf_symbol symbol[] = {
		{.name = "caml_main"}, {.name = "caml_ev_begin"}, {.name = "caml_eventlog_init"}};
	if (elf_open(fd, &elf))
		return false;
	elf_find(elf, symbol, 3);
	elf_close(elf);
	return symbol[0].found && (!symbol[1].found || symbol[2].found);
}

unsigned ocaml_version_bytecode(int fd, char *ret_magic)
{
	static const char prefix[] = "Caml1999X";
	const size_t bytes = OCAML_MAGIC_BYTES - 1, digits = sizeof(prefix) - 1;
	off_t end = lseek(fd, 0, SEEK_END);
	char magic[OCAML_MAGIC_BYTES] = "";
	if (end < (off_t)bytes || pread(fd, magic, bytes, end - (off_t)bytes) != (ssize_t)bytes ||
	    memcmp(magic, prefix, digits) || strspn(magic + digits, "0123456789") != 3)
		return 0;
	memcpy(ret_magic, magic, sizeof(magic));
	return atoi(magic + digits) < FIRST_MAGIC_OF_5 ? 4 : 5;
}

/*
 * Strings that every OCaml 5 runtime contains. libebtrace-probes contains the second one too, OCaml
 * 4 the first.
 */
static const char *const variables[] = {"OCAMLRUNPARAM", "OCAML_RUNTIME_EVENTS_START"};
#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* Finds a whole string, not the tail of another one. */
static bool holds_string(const char *buf, size_t bytes, const char *string)
{
	char needle[40] = {0};
	size_t n = strlen(string);
	memcpy(needle + 1, string, n);
	return memmem(buf, bytes, needle, n + 2);
}

static bool holds_variables(int fd)
{
	static const size_t overlap = 40;
	char buf[65536 + 40];
	size_t kept = 0;
	ssize_t n;
	unsigned found = 0;
	for (off_t at = 0; at < MAX_SCANNED && (n = pread(fd, buf + kept, 65536, at)) > 0;
	     at += n) {
		size_t have = kept + (size_t)n;
		for (unsigned i = 0; i < VARIABLES; i++)
			if (holds_string(buf, have, variables[i]))
				found |= 1u << i;
		if (found == (1u << VARIABLES) - 1)
			return true;
		kept = have < overlap ? have : overlap;
		memmove(buf, buf + have - kept, kept);
	}
	return false;
}

bool ocaml_version_is_stripped(int fd)
{
	struct elf *elf;
	struct elf_symbol begin = {.name = "caml_ev_begin"};
	if (elf_open(fd, &elf))
		return false;
	bool stripped = !elf_find(elf, &begin, 1) && holds_variables(fd);
	elf_close(elf);
	return stripped;
}
