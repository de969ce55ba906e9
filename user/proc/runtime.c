/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/runtime.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/elf.h"

/* Newest first: a release has the functions of those before it. */
static const struct {
	const char *symbol;
	enum ebt_release release;
} marks[] = {
	{"caml_sys_get_stdlib_dirs", EBT_RELEASE_OCAML_5_5},
	{"caml_ml_gc_ramp_up", EBT_RELEASE_OCAML_5_4},
	{"caml_ml_runtime_events_path", EBT_RELEASE_OCAML_5_3},
	{"caml_runtime_events_are_active", EBT_RELEASE_OCAML_5_2},
	{"caml_runtime_events_user_write", EBT_RELEASE_OCAML_5_1},
	{"caml_ev_begin", EBT_RELEASE_OCAML_5_0},
};
#define FIRST_MAGIC_OF_5 32 /* 4.14 writes Caml1999X031 */
#define MARKS		 (sizeof(marks) / sizeof(marks[0]))

enum ebt_release runtime_elf_release(struct elf *elf)
{
	struct elf_symbol symbol[MARKS + 1] = {0};
	for (unsigned i = 0; i < MARKS; i++)
		symbol[i].name = marks[i].symbol;
	symbol[MARKS].name = "caml_eventlog_init";
	elf_find(elf, symbol, MARKS + 1);
	/* The instrumented runtime of OCaml 4 has some of the names, but no rings. */
	if (!symbol[MARKS - 1].found || symbol[MARKS].found)
		return EBT_RELEASE_AUTO;
	unsigned newest = 0;
	while (!symbol[newest].found)
		newest++;
	return marks[newest].release;
}

enum ebt_release runtime_ocaml_release(int fd)
{
	struct elf *elf;
	if (elf_open(fd, &elf))
		return EBT_RELEASE_AUTO;
	enum ebt_release found = runtime_elf_release(elf);
	elf_close(elf);
	return found;
}

/* Every native program of OCaml has it, and every interpreter of its bytecode. */
bool runtime_is_ocaml_4(int fd)
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

unsigned runtime_bytecode(int fd, char *ret_magic)
{
	static const char prefix[] = "Caml1999X";
	const size_t bytes = RUNTIME_MAGIC_BYTES - 1, digits = sizeof(prefix) - 1;
	off_t end = lseek(fd, 0, SEEK_END);
	char magic[RUNTIME_MAGIC_BYTES] = "";
	if (end < (off_t)bytes || pread(fd, magic, bytes, end - (off_t)bytes) != (ssize_t)bytes ||
	    memcmp(magic, prefix, digits) || strspn(magic + digits, "0123456789") != 3)
		return 0;
	memcpy(ret_magic, magic, sizeof(magic));
	return atoi(magic + digits) < FIRST_MAGIC_OF_5 ? 4 : 5;
}
