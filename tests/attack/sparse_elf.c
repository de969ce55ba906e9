/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to make who looks into it read for minutes: maps two sparse ELF files of 500 MB, all of it
 * symbols, in turns, so often that looking at each mapping does not end; then a file that claims 7
 * million sections, and one whose notes are to be looked up in 100,000 segments.
 *
 *   sparse_elf DIR TIMES    prints "ready", waits for a line
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILE_BYTES (500ull << 20)
#define SEGMENTS   65534

static void put(int fd, const void *bytes, size_t n, uint64_t offset)
{
	if (pwrite(fd, bytes, n, (off_t)offset) != (ssize_t)n) {
		perror("sparse_elf");
		exit(1);
	}
}

static int make(const char *dir, const char *name, uint64_t bytes)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		perror(path);
		exit(1);
	}
	return fd;
}

static Elf64_Ehdr header(uint16_t sections)
{
	Elf64_Ehdr h = {.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_shoff = sizeof(h),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = sections};
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	return h;
}

static int make_symbols(const char *dir, const char *name)
{
	int fd = make(dir, name, FILE_BYTES);
	Elf64_Ehdr h = header(4);
	const Elf64_Shdr section[4] = {
		[1] = {.sh_type = SHT_DYNSYM,
		       .sh_offset = 4096,
		       .sh_size = 9000000 * sizeof(Elf64_Sym),
		       .sh_entsize = sizeof(Elf64_Sym),
		       .sh_link = 3},
		[2] = {.sh_type = SHT_SYMTAB,
		       .sh_offset = 4096,
		       .sh_size = 9000000 * sizeof(Elf64_Sym),
		       .sh_entsize = sizeof(Elf64_Sym),
		       .sh_link = 3},
		[3] = {.sh_type = SHT_STRTAB, .sh_offset = 240 << 20, .sh_size = 20 << 20},
	};
	put(fd, &h, sizeof(h), 0);
	put(fd, section, sizeof(section), sizeof(h));
	/* Each symbol is defined, and has a name of its own. */
	static Elf64_Sym symbol[4096];
	for (unsigned i = 0; i < 4096; i++)
		symbol[i] = (Elf64_Sym){.st_name = 1, .st_shndx = 1};
	for (unsigned i = 0; i < 16; i++)
		put(fd, symbol, sizeof(symbol), 4096 + i * sizeof(symbol));
	return fd;
}

static int make_sections(const char *dir)
{
	int fd = make(dir, "sections", FILE_BYTES);
	Elf64_Ehdr h = header(0);
	const Elf64_Shdr zero = {.sh_size = 7000000};
	put(fd, &h, sizeof(h), 0);
	put(fd, &zero, sizeof(zero), h.e_shoff);
	return fd;
}

static int make_notes(const char *dir)
{
	static const char names[] = "\0.note.stapsdt\0.names";
	static const struct __attribute__((packed)) {
		Elf64_Nhdr head;
		char name[8];
		uint64_t pc, base, semaphore;
		char text[12];
	} note = {.head = {8, 36, 3}, .name = "stapsdt", .pc = 1, .text = "ebtrace\0x\0"};
	uint64_t notes = 16 << 20, at = 8 << 20;
	int fd = make(dir, "notes", 32 << 20);
	Elf64_Ehdr h = header(3);
	h.e_phoff = 4096;
	h.e_phnum = SEGMENTS;
	h.e_shstrndx = 2;
	Elf64_Shdr section[3] = {
		[1] = {.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = at, .sh_size = notes},
		[2] = {.sh_name = 15, .sh_offset = 2048, .sh_size = sizeof(names)},
	};
	put(fd, &h, sizeof(h), 0);
	put(fd, section, sizeof(section), sizeof(h));
	put(fd, names, sizeof(names), 2048);
	char *all = malloc(notes);
	if (!all)
		exit(1);
	for (uint64_t i = 0; i + sizeof(note) <= notes; i += sizeof(note))
		memcpy(all + i, &note, sizeof(note));
	put(fd, all, notes, at);
	free(all);
	return fd;
}

static void map(int fd, unsigned page)
{
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)page << 12) ==
	    MAP_FAILED) {
		perror("sparse_elf: mmap");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	int fd[2] = {make_symbols(argv[1], "one"), make_symbols(argv[1], "two")};
	/* In turns, and never the page behind the last one: no two mappings become one. */
	for (unsigned i = 0; i < (unsigned)atoi(argv[2]); i++)
		map(fd[i & 1], 2 * i);
	map(make_sections(argv[1]), 0);
	map(make_notes(argv[1]), 0);
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
