/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions by address: which name of several, and how far it reaches, in programs assembled
 * here. */
#include "elf/symtab.h"
#include "tests/unit/assembled.h"

#include <libelf.h>

#define FUNC(name)	  ".type " name ",@function\n" name ":\n"
#define SIZE(name, bytes) ".size " name "," bytes "\n"
#define GLOBAL(name)	  ".globl " name "\n"
#define WEAK(name)	  ".weak " name "\n"
#define NOPS		  ".fill 16,1,0x90\n"
#define END		  ".data\n.quad 0\n"

static Elf *elf;
static struct symtab *table;

static void open_table(const char *text)
{
	symtab_free(table);
	elf_end(elf);
	read_program(text, STATIC);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (symtab_new(elf, true, &table))
		abort();
}

static void finds(const char *label, uint64_t offset, const char *want, const char *name)
{
	const char *got = symtab_find(table, address_of(label) + offset);
	is_str(got ? got : "none", want, name);
}

static void test_names(void)
{
	open_table(TEXT NOPS FUNC("aa_local") GLOBAL("zz_global") FUNC("zz_global") NOPS SIZE(
		"aa_local", "16") SIZE("zz_global",
				       "16") GLOBAL("aa_label") "aa_label:\n" FUNC("zz_sized")
			   NOPS SIZE("zz_sized", "16") GLOBAL("_wrapped") FUNC("_wrapped") FUNC(
				   "zz_plain") NOPS SIZE("_wrapped", "16") SIZE("zz_plain", "16")
				   GLOBAL("zz_first") FUNC("zz_first") GLOBAL("bb_first")
					   FUNC("bb_first") NOPS SIZE("zz_first", "16") SIZE(
						   "bb_first", "16") WEAK("aa_weak") FUNC("aa_weak")
						   GLOBAL("zz_strong") FUNC("zz_strong")
							   NOPS SIZE("aa_weak", "16")
								   SIZE("zz_strong", "16") END);
	finds("aa_local", 4, "zz_global", "of two names the exported one is used");
	finds("zz_sized", 4, "zz_sized", "but one with a size before one without");
	finds("zz_plain", 4, "zz_plain", "and one without an underscore before one with it");
	finds("zz_first", 4, "bb_first", "of two alike the first one in the alphabet");
	finds("aa_weak", 4, "zz_strong", "one that is weak is not exported for good");
}

static void test_sizes(void)
{
	open_table(TEXT NOPS FUNC("short") NOPS SIZE("short", "4") FUNC("open") NOPS FUNC("outer")
			   NOPS FUNC("inner") NOPS NOPS SIZE("outer", "48") SIZE("inner", "8")
				   FUNC("last") ".byte 0x90\n" NOPS END);
	finds("short", 3, "short", "a function reaches as far as its size");
	finds("short", 4, "none", "and no further");
	finds("open", 15, "open", "one without a size reaches to the next");
	finds("inner", 7, "inner", "one inside of another is the one");
	finds("inner", 8, "outer", "behind it the outer one goes on");
	finds("last", 0, "last", "the last one has its first byte, if its size is not known");
	finds("last", 1, "none", "and no more");
	open_table(TEXT NOPS FUNC("whole") NOPS SIZE("whole", "16") "past:\n" END);
	finds("past", -1ull, "whole", "a function reaches to the end of the code");
	finds("past", 0, "none", "a label behind the code is no function");
}

static void test_stripped(void)
{
	open_table(TEXT NOPS END);
	ok(symtab_has_any(table), "a program has a symbol at least");
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "strip %s/a", dir);
	is(system(cmd), 0, "it is stripped");
	char path[64];
	snprintf(path, sizeof(path), "%s/a", dir);
	int stripped = open(path, O_RDONLY | O_CLOEXEC);
	Elf *e = elf_begin(stripped, ELF_C_READ, NULL);
	struct symtab *t;
	ok(!symtab_new(e, true, &t) && !symtab_has_any(t) && !symtab_find(t, 0x401000),
	   "then it has none");
	symtab_free(t);
	elf_end(e);
	close(stripped);
}

/* The program of open_table(), to be changed; where its symbols and their names are. */
static int open_forged(GElf_Shdr *ret_symbols, GElf_Shdr *ret_names)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/a", dir);
	int forged = open(path, O_RDWR | O_CLOEXEC);
	Elf *e = elf_begin(forged, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	*ret_names = (GElf_Shdr){0};
	while ((scn = elf_nextscn(e, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB) {
			*ret_symbols = shdr;
			gelf_getshdr(elf_getscn(e, shdr.sh_link), ret_names);
		}
	elf_end(e);
	return forged;
}

/* The string table of a file that was made by hand need not end with a zero. */
static void test_no_end(void)
{
	GElf_Shdr symbols, names;
	open_table(TEXT NOPS FUNC("one") NOPS SIZE("one", "16") END);
	finds("one", 4, "one", "a function is found");
	int forged = open_forged(&symbols, &names);
	if (pwrite(forged, "x", 1, (off_t)(names.sh_offset + names.sh_size - 1)) != 1)
		abort();
	Elf *e = elf_begin(forged, ELF_C_READ, NULL);
	struct symtab *t;
	ok(!symtab_new(e, true, &t) && !symtab_has_any(t),
	   "names of a table whose last one has no end are not used");
	symtab_free(t);
	elf_end(e);
	close(forged);
}

/* Sets the offset of the name of each symbol that has one. */
static void forge_names(int forged, const GElf_Shdr *symbols, uint32_t to)
{
	Elf64_Sym sym;
	for (uint64_t at = 0; at < symbols->sh_size; at += sizeof(sym)) {
		off_t offset = (off_t)(symbols->sh_offset + at);
		if (pread(forged, &sym, sizeof(sym), offset) != sizeof(sym))
			abort();
		sym.st_name = sym.st_name ? to : 0;
		if (pwrite(forged, &sym, sizeof(sym), offset) != sizeof(sym))
			abort();
	}
}

/* A name may begin at the last byte of the table, an empty one; no name begins behind it. */
static void test_behind(void)
{
	GElf_Shdr symbols, names;
	open_table(TEXT NOPS FUNC("one") NOPS SIZE("one", "16") END);
	int forged = open_forged(&symbols, &names);
	if (pwrite(forged, "x", 1, (off_t)(names.sh_offset + names.sh_size)) != 1)
		abort();
	for (uint32_t more = 0; more <= 2; more++) {
		forge_names(forged, &symbols, (uint32_t)names.sh_size - 1 + more);
		Elf *e = elf_begin(forged, ELF_C_READ_MMAP, NULL);
		struct symtab *t;
		ok(!symtab_new(e, true, &t) && !symtab_has_any(t),
		   "a name %u bytes behind the last of its table is none", more);
		symtab_free(t);
		elf_end(e);
	}
	close(forged);
}

int main(void)
{
	if (!mkdtemp(dir) || elf_version(EV_CURRENT) == EV_NONE)
		return skip_all("needs a temporary directory");
	test_names();
	test_sizes();
	test_stripped();
	test_no_end();
	test_behind();
	symtab_free(table);
	elf_end(elf);
	char cmd[64];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	tap_keeps(1);
	return system(cmd) ? 1 : tap_done();
}
