/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol tables that were made to keep their reader busy: without its bounds this does not end. */
#include "elf/elf.h"
#include "tests/tap.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYMBOLS	     1000000
#define STRING_BYTES (16u << 20)
#define TABLES	     200 /* of the same place */
#define STRINGS_AT   0x10000
#define SYMBOLS_AT   (STRINGS_AT + STRING_BYTES)

static void put(int fd, const void *data, size_t bytes, off_t at)
{
	if (pwrite(fd, data, bytes, at) != (ssize_t)bytes)
		abort();
}

/* The strings have no end, and each symbol is named by the first of them; the last one is "aaa",
 * behind which a zero stands. */
static int make_file(unsigned tables)
{
	char path[] = "/tmp/ebt-elf-XXXXXX";
	int fd = mkstemp(path);
	char *strings = malloc(STRING_BYTES);
	Elf64_Sym *symbols = calloc(SYMBOLS, sizeof(*symbols));
	Elf64_Shdr *sh = calloc(tables + 2, sizeof(*sh));
	if (fd < 0 || !strings || !symbols || !sh)
		abort();
	unlink(path);
	Elf64_Ehdr eh = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_shentsize = sizeof(*sh),
		.e_shnum = (uint16_t)(tables + 2),
	};
	sh[1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = STRINGS_AT, .sh_size = STRING_BYTES};
	for (unsigned i = 0; i < tables; i++)
		sh[i + 2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					 .sh_offset = SYMBOLS_AT,
					 .sh_size = SYMBOLS * sizeof(*symbols),
					 .sh_link = 1,
					 .sh_entsize = sizeof(*symbols)};
	memset(strings, 'a', STRING_BYTES);
	memcpy(strings, "\0aaa", 5);
	for (unsigned i = 0; i < SYMBOLS; i++)
		symbols[i].st_shndx = 1;
	symbols[SYMBOLS - 1].st_name = 1;
	symbols[SYMBOLS - 1].st_value = 42;
	put(fd, &eh, sizeof(eh), 0);
	put(fd, sh, (tables + 2) * sizeof(*sh), sizeof(eh));
	put(fd, strings, STRING_BYTES, STRINGS_AT);
	put(fd, symbols, SYMBOLS * sizeof(*symbols), SYMBOLS_AT);
	free(strings);
	free(symbols);
	free(sh);
	return fd;
}

/* Small pieces are read from windows of the file. */
static void test_read(void)
{
	struct elf *e;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned wrong = 0, read = 0, seed = 1;
	uint8_t got[40000], want[40000];
	if (fd < 0 || elf_open(fd, &e))
		abort();
	for (int i = 0; i < 4000; i++) {
		seed = seed * 1664525u + 1013904223u;
		size_t bytes = i % 50 ? 1 + (seed >> 8) % 300 : sizeof(got);
		uint64_t address = (seed >> 12) % 20000, at = elf_offset(e, address);
		int n = elf_read(e, address, got, bytes);
		if (!at && n < 0)
			continue;
		ssize_t most = pread(fd, want, bytes, (off_t)at);
		/* Where a segment ends the file goes on. */
		wrong += n < 0 || n > most || memcmp(got, want, (size_t)n);
		wrong += n < most && elf_offset(e, address + (unsigned)n) == at + (unsigned)n;
		read++;
	}
	ok(read > 500 && !wrong, "what is read at an address is what the file has there");
	elf_close(e);
	close(fd);
}

/* A segment that claims more bytes than the file has, whatever was read before. */
static void test_end_of_file(void)
{
	enum { BYTES = 20000, VADDR = 0x100000 };
	char path[] = "/tmp/ebt-elf-XXXXXX";
	static uint8_t bytes[BYTES], got[200];
	struct elf *e;
	int fd = mkstemp(path);
	Elf64_Ehdr eh = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	Elf64_Phdr ph = {.p_type = PT_LOAD, .p_vaddr = VADDR, .p_filesz = 100 * BYTES};
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, &eh, sizeof(eh));
	memcpy(bytes + sizeof(eh), &ph, sizeof(ph));
	if (fd < 0)
		abort();
	unlink(path);
	put(fd, bytes, sizeof(bytes), 0);
	if (elf_open(fd, &e))
		abort();
	elf_read(e, VADDR, got, 100);
	is(elf_read(e, VADDR + BYTES - 10, got, sizeof(got)), 10,
	   "where the file ends no more is read than it has");
	is(elf_read(e, VADDR + BYTES, got, sizeof(got)), 0, "and nothing behind that");
	elf_close(e);
	close(fd);
}

/* A file with two sections that have each the bytes of a build id. */
static size_t build_id_of(uint32_t first_type, uint32_t second_type, char ret[5])
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[3];
		struct {
			Elf64_Nhdr head;
			char name[4], id[4];
		} note[2];
	} all = {
		.eh =
			{
				.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					    EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_shoff = sizeof(all.eh),
				.e_ehsize = sizeof(all.eh),
				.e_shentsize = sizeof(all.sh[0]),
				.e_shnum = 3,
			},
	};
	const uint32_t type[] = {first_type, second_type};
	char path[] = "/tmp/ebt-elf-XXXXXX";
	int fd = mkstemp(path);
	struct elf *e;
	for (int i = 0; i < 2; i++) {
		all.sh[i + 1] = (Elf64_Shdr){
			.sh_type = type[i],
			.sh_offset = (uint64_t)((char *)&all.note[i] - (char *)&all),
			.sh_size = sizeof(all.note[i]),
			.sh_addralign = 4,
		};
		all.note[i].head =
			(Elf64_Nhdr){.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID};
		memcpy(all.note[i].name, "GNU", 4);
		memcpy(all.note[i].id, i ? "two!" : "one!", 4);
	}
	if (fd < 0)
		abort();
	unlink(path);
	put(fd, &all, sizeof(all), 0);
	if (elf_open(fd, &e))
		abort();
	memset(ret, 0, 5);
	size_t n = elf_build_id(e, ret, 4);
	elf_close(e);
	close(fd);
	return n;
}

static void test_build_id(void)
{
	char id[5];
	ok(build_id_of(SHT_NOTE, SHT_NOTE, id) == 4 && !strcmp(id, "one!"),
	   "the build id is that of the first note with one");
	ok(build_id_of(SHT_PROGBITS, SHT_NOTE, id) == 4 && !strcmp(id, "two!"),
	   "what looks like a note in another section is none");
	is(build_id_of(SHT_PROGBITS, SHT_PROGBITS, id), 0, "without a note there is none");
}

static uint64_t tls_bytes(uint64_t bytes, uint64_t align)
{
	char path[] = "/tmp/ebt-elf-XXXXXX";
	struct elf *e;
	int fd = mkstemp(path);
	Elf64_Ehdr eh = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(eh),
		.e_ehsize = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	Elf64_Phdr ph = {.p_type = PT_TLS, .p_memsz = bytes, .p_align = align};
	if (fd < 0)
		abort();
	unlink(path);
	put(fd, &eh, sizeof(eh), 0);
	put(fd, &ph, sizeof(ph), sizeof(eh));
	if (elf_open(fd, &e))
		abort();
	uint64_t got = elf_tls_bytes(e);
	elf_close(e);
	close(fd);
	return got;
}

static void test_tls(void)
{
	ok(tls_bytes(65, 64) == 128 && tls_bytes(64, 64) == 64 && tls_bytes(5, 0) == 5,
	   "a thread-local block is as long as its alignment makes it");
	ok(!tls_bytes(10, 3) && !tls_bytes(10, 2u << 20) && tls_bytes(10, 1u << 20) == 1u << 20,
	   "an alignment that is no power of two, or above 1 MiB, is none");
}

/* Relocations of two symbols. The first section of them names a table of symbols that is not
 * there. */
static int make_relocated(void)
{
	char path[] = "/tmp/ebt-elf-XXXXXX";
	int fd = mkstemp(path);
	struct {
		Elf64_Ehdr eh;
		Elf64_Shdr sh[5];
		Elf64_Sym symbol[3];
		Elf64_Rela rela[3];
		char strings[16];
	} f = {
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_shoff = offsetof(typeof(f), sh),
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 5},
		.sh = {{0},
		       {.sh_type = SHT_RELA,
			.sh_offset = offsetof(typeof(f), rela),
			.sh_size = sizeof(f.rela),
			.sh_entsize = sizeof(Elf64_Rela),
			.sh_link = 99},
		       {.sh_type = SHT_RELA,
			.sh_offset = offsetof(typeof(f), rela),
			.sh_size = sizeof(f.rela),
			.sh_entsize = sizeof(Elf64_Rela),
			.sh_link = 3},
		       {.sh_type = SHT_DYNSYM,
			.sh_offset = offsetof(typeof(f), symbol),
			.sh_size = sizeof(f.symbol),
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_link = 4},
		       {.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(typeof(f), strings),
			.sh_size = sizeof(f.strings)}},
		.symbol = {{0}, {.st_name = 1}, {.st_name = 5}},
		.rela = {{100, ELF64_R_INFO(1, R_X86_64_TPOFF64), 0},
			 {200, ELF64_R_INFO(1, R_X86_64_DTPMOD64), 0},
			 {300, ELF64_R_INFO(2, R_X86_64_DTPMOD64), 0}},
		.strings = "\0one\0two",
	};
	if (fd < 0)
		abort();
	unlink(path);
	put(fd, &f, sizeof(f), 0);
	return fd;
}

static void test_slot(void)
{
	struct elf *e;
	int fd = make_relocated();
	if (elf_open(fd, &e))
		abort();
	ok(elf_slot(e, R_X86_64_TPOFF64, "one") == 100 &&
		   elf_slot(e, R_X86_64_DTPMOD64, "one") == 200 &&
		   elf_slot(e, R_X86_64_DTPMOD64, "two") == 300,
	   "a slot is that of a relocation's type and symbol");
	ok(!elf_slot(e, R_X86_64_TPOFF64, "two") && !elf_slot(e, R_X86_64_DTPMOD64, "three"),
	   "or there is none");
	elf_close(e);
	close(fd);
}

/* Whether all that is searched for a symbol may be read within a limit. */
static bool is_limited(uint64_t limit, uint64_t *ret_used)
{
	struct elf_symbol none = {.name = "no symbol of ours"};
	struct elf *e;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_open(fd, &e))
		abort();
	elf_limit(e, limit);
	elf_find(e, &none, 1);
	bool is = elf_was_limited(e);
	*ret_used = elf_used(e);
	elf_close(e);
	close(fd);
	return is;
}

static void test_limit(void)
{
	uint64_t all, used;
	ok(!is_limited(UINT64_MAX, &all) && all > 1000, "our own sections are read");
	ok(!is_limited(all, &used) && used == all, "so they are if they fill what may be read");
	ok(is_limited(all - 1, &used) && used < all,
	   "of one byte less one is left out: they add up");
}

int main(void)
{
	struct elf *elf;
	int fd = make_file(1);
	struct elf_symbol symbol[] = {{.name = "aaa"}, {.name = "aaaa"}};
	is(elf_open(fd, &elf), 0, "a file whose strings do not end is opened");
	is(elf_find(elf, symbol, 2), 1, "a symbol in it is found");
	is(symbol[0].value, 42, "and its value");
	elf_close(elf);
	close(fd);

	fd = make_file(TABLES);
	struct elf_symbol none = {.name = "b"};
	is(elf_open(fd, &elf), 0, "a file with 200 large tables is opened");
	is(elf_find(elf, &none, 1), 0, "what is not there is not found");
	elf_close(elf);
	close(fd);
	test_read();
	test_end_of_file();
	test_build_id();
	test_limit();
	test_tls();
	test_slot();
	return tap_done();
}
