/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/elf.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/machine.h"

/* Bounds for hostile files. */
#define MAX_SYMBOLS  10000000 /* of a section */
#define MAX_SEGMENTS 256
#define MAX_SECTIONS 131072
#define MAX_BYTES    (256u << 20) /* of all sections that are read */

struct elf {
	Elf *elf;
	int fd;
	uint16_t type;
	GElf_Phdr segment[MAX_SEGMENTS];
	unsigned segments;
	uint64_t left; /* of MAX_BYTES, or of the limit that was set */
	uint64_t used;
	bool limited;
	struct elf_window *windows; /* WINDOWS, by offset; NULL: nothing has been read */
};

/* Of what elf_read() reads: what describes the frames of a program is many small pieces that are
 * near to each other. */
#define WINDOWS	     8
#define WINDOW_BYTES 16384u

struct elf_window {
	uint64_t number; /* of the window in the file, from 1; 0: this one is empty */
	size_t bytes;	 /* of it that there are */
	uint8_t data[WINDOW_BYTES];
};

/* libelf keeps a record of each section that a header claims: of 8 million, 1 GB. */
static bool claims_too_much(int fd)
{
	Elf64_Ehdr head;
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return true;
	if (head.e_shnum || !head.e_shoff)
		return head.e_phnum > MAX_SEGMENTS;
	/* Section 0 has the number of sections if it does not fit in the header. */
	Elf64_Shdr zero;
	return head.e_phnum > MAX_SEGMENTS || head.e_shoff > INT64_MAX ||
	       pread(fd, &zero, sizeof(zero), (off_t)head.e_shoff) != sizeof(zero) ||
	       zero.sh_size > MAX_SECTIONS;
}

int elf_open(int fd, struct elf **ret)
{
	if (machine_check(fd, NULL) || claims_too_much(fd) || elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	struct elf *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->fd = fd;
	e->elf = elf_begin(fd, ELF_C_READ, NULL);
	GElf_Ehdr head;
	size_t count = 0;
	if (!e->elf || !gelf_getehdr(e->elf, &head) || elf_getphdrnum(e->elf, &count)) {
		elf_close(e);
		return -ENOEXEC;
	}
	e->type = head.e_type;
	e->left = MAX_BYTES;
	for (size_t i = 0; i < count && i < MAX_SEGMENTS; i++)
		if (gelf_getphdr(e->elf, (int)i, &e->segment[e->segments]))
			e->segments++;
	*ret = e;
	return 0;
}

void elf_close(struct elf *e)
{
	if (!e)
		return;
	elf_end(e->elf);
	free(e->windows);
	free(e);
}

void elf_limit(struct elf *e, uint64_t bytes)
{
	if (bytes < e->left)
		e->left = bytes;
}

uint64_t elf_used(const struct elf *e)
{
	return e->used;
}

bool elf_was_limited(const struct elf *e)
{
	return e->limited;
}

static Elf_Scn *next_section(struct elf *e, Elf_Scn *scn, uint32_t type, GElf_Shdr *ret)
{
	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, ret) && ret->sh_type == type && ret->sh_entsize)
			return scn;
	return NULL;
}

static Elf_Data *read_section(struct elf *e, Elf_Scn *scn)
{
	GElf_Shdr shdr;
	if (!scn || !gelf_getshdr(scn, &shdr))
		return NULL;
	if (shdr.sh_size > e->left) {
		e->limited = true;
		return NULL;
	}
	e->left -= shdr.sh_size;
	e->used += shdr.sh_size;
	return elf_getdata(scn, NULL);
}

/* Not by elf_strptr(): each of its calls searches the end of the table's last string. */
static bool is_named(const Elf_Data *strings, uint64_t at, const char *name)
{
	size_t bytes = strlen(name) + 1;
	return strings && strings->d_buf && at < strings->d_size && bytes <= strings->d_size - at &&
	       !memcmp((const char *)strings->d_buf + at, name, bytes);
}

static unsigned find_in(struct elf *e, Elf_Scn *scn, const GElf_Shdr *shdr,
			struct elf_symbol *symbol, unsigned count)
{
	Elf_Data *data = read_section(e, scn);
	Elf_Data *strings = read_section(e, elf_getscn(e->elf, shdr->sh_link));
	size_t symbols = data && strings ? data->d_size / shdr->sh_entsize : 0;
	unsigned found = 0;
	for (size_t i = 0; i < symbols && i < MAX_SYMBOLS && found < count; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		for (unsigned s = 0; s < count; s++) {
			if (symbol[s].found || !is_named(strings, sym.st_name, symbol[s].name))
				continue;
			symbol[s].found = true;
			symbol[s].value = sym.st_value;
			symbol[s].size = sym.st_size;
			symbol[s].thread_local = GELF_ST_TYPE(sym.st_info) == STT_TLS;
			found++;
		}
	}
	return found;
}

unsigned elf_find(struct elf *e, struct elf_symbol *symbol, unsigned count)
{
	static const uint32_t order[] = {SHT_DYNSYM, SHT_SYMTAB};
	unsigned found = 0;
	for (unsigned i = 0; i < 2; i++) {
		GElf_Shdr shdr;
		Elf_Scn *scn = NULL;
		while (found < count && (scn = next_section(e, scn, order[i], &shdr)))
			found += find_in(e, scn, &shdr, symbol, count);
	}
	return found;
}

static const GElf_Phdr *segment_of(const struct elf *e, uint64_t address)
{
	for (unsigned i = 0; i < e->segments; i++) {
		const GElf_Phdr *p = &e->segment[i];
		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

static ssize_t read_file(struct elf *e, uint64_t at, void *ret, size_t size)
{
	uint64_t number = at / WINDOW_BYTES + 1, from = at % WINDOW_BYTES;
	if (!e->windows && size <= WINDOW_BYTES)
		e->windows = calloc(WINDOWS, sizeof(*e->windows));
	if (!e->windows || from + size > WINDOW_BYTES)
		return pread(e->fd, ret, size, (off_t)at);
	struct elf_window *w = &e->windows[number % WINDOWS];
	if (w->number != number) {
		ssize_t n = pread(e->fd, w->data, WINDOW_BYTES, (off_t)(at - from));
		w->number = n < 0 ? 0 : number;
		w->bytes = n < 0 ? 0 : (size_t)n;
		if (n < 0)
			return n;
	}
	if (from >= w->bytes)
		return 0;
	size = size < w->bytes - from ? size : w->bytes - from;
	memcpy(ret, w->data + from, size);
	return (ssize_t)size;
}

int elf_read(struct elf *e, uint64_t address, void *ret, size_t size)
{
	const GElf_Phdr *p = segment_of(e, address);
	if (!p)
		return -ENOENT;
	uint64_t left = p->p_filesz - (address - p->p_vaddr);
	ssize_t n = read_file(e, p->p_offset + (address - p->p_vaddr), ret,
			      size < left ? size : (size_t)left);
	return n < 0 ? -errno : (int)n;
}

uint64_t elf_offset(struct elf *e, uint64_t address)
{
	const GElf_Phdr *p = segment_of(e, address);
	return p ? p->p_offset + (address - p->p_vaddr) : 0;
}

uint64_t elf_address(struct elf *e, uint64_t offset)
{
	for (unsigned i = 0; i < e->segments; i++) {
		const GElf_Phdr *p = &e->segment[i];
		/* The pages around a segment are mapped with it. */
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && offset + 4096 > p->p_offset &&
		    offset < p->p_offset + p->p_filesz)
			return p->p_vaddr + offset - p->p_offset;
	}
	return 0;
}

static bool has_pie_flag(struct elf *e)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = next_section(e, NULL, SHT_DYNAMIC, &shdr);
	Elf_Data *data = read_section(e, scn);
	GElf_Dyn dyn;
	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
		if (dyn.d_tag == DT_FLAGS_1 && dyn.d_un.d_val & DF_1_PIE)
			return true;
	return false;
}

bool elf_is_program(struct elf *e)
{
	for (unsigned i = 0; i < e->segments; i++)
		if (e->segment[i].p_type == PT_INTERP)
			return true;
	return e->type == ET_EXEC || has_pie_flag(e);
}

uint64_t elf_tls_bytes(struct elf *e)
{
	for (unsigned i = 0; i < e->segments; i++) {
		const GElf_Phdr *p = &e->segment[i];
		uint64_t align = p->p_align ? p->p_align : 1;
		if (p->p_type == PT_TLS && !(align & (align - 1)) && align <= 1u << 20)
			return (p->p_memsz + align - 1) & ~(align - 1);
	}
	return 0;
}

uint64_t elf_slot(struct elf *e, uint32_t type, const char *symbol)
{
	GElf_Shdr shdr, linked;
	Elf_Scn *scn = NULL;
	while ((scn = next_section(e, scn, SHT_RELA, &shdr))) {
		Elf_Scn *symbols = elf_getscn(e->elf, shdr.sh_link);
		Elf_Data *data = read_section(e, scn);
		Elf_Data *names = read_section(e, symbols);
		if (!data || !names || !gelf_getshdr(symbols, &linked))
			continue;
		Elf_Data *strings = read_section(e, elf_getscn(e->elf, linked.sh_link));
		GElf_Rela rela;
		for (int i = 0; i < MAX_SYMBOLS && gelf_getrela(data, i, &rela); i++) {
			GElf_Sym sym;
			if (GELF_R_TYPE(rela.r_info) != type ||
			    !gelf_getsym(names, (int)GELF_R_SYM(rela.r_info), &sym))
				continue;
			if (is_named(strings, sym.st_name, symbol))
				return rela.r_offset;
		}
	}
	return 0;
}

bool elf_needs(struct elf *e, const char *prefix)
{
	GElf_Shdr shdr;
	size_t length = strlen(prefix);
	Elf_Scn *scn = next_section(e, NULL, SHT_DYNAMIC, &shdr);
	Elf_Data *data = read_section(e, scn);
	Elf_Data *strings = data ? read_section(e, elf_getscn(e->elf, shdr.sh_link)) : NULL;
	GElf_Dyn dyn;
	for (int i = 0; strings && i < MAX_SYMBOLS && gelf_getdyn(data, i, &dyn); i++) {
		uint64_t at = dyn.d_un.d_val;
		if (dyn.d_tag == DT_NEEDED && strings->d_buf && at < strings->d_size &&
		    length <= strings->d_size - at &&
		    !memcmp((const char *)strings->d_buf + at, prefix, length))
			return true;
	}
	return false;
}

/* Sections, as the segments of a separate debug file are those of the program, not its own. */
size_t elf_build_id(struct elf *e, void *ret, size_t cap)
{
	Elf_Scn *scn = NULL;
	while ((scn = elf_nextscn(e->elf, scn))) {
		GElf_Shdr shdr;
		GElf_Nhdr note;
		size_t at = 0, next, name, desc;
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE)
			continue;
		Elf_Data *data = read_section(e, scn);
		for (; data && (next = gelf_getnote(data, at, &note, &name, &desc)); at = next) {
			const char *bytes = data->d_buf;
			if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
			    memcmp(bytes + name, "GNU", sizeof("GNU")) != 0)
				continue;
			memcpy(ret, bytes + desc, note.n_descsz < cap ? note.n_descsz : cap);
			return note.n_descsz;
		}
	}
	return 0;
}

/* NULL: there is none of this name. */
static Elf_Scn *section_named(const struct elf *e, const char *wanted)
{
	Elf_Scn *scn = NULL;
	size_t names = 0;
	if (elf_getshdrstrndx(e->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(e->elf, scn))) {
		GElf_Shdr shdr;
		const char *name =
			gelf_getshdr(scn, &shdr) ? elf_strptr(e->elf, names, shdr.sh_name) : NULL;
		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

const char *elf_debug_link(struct elf *e)
{
	Elf_Scn *scn = section_named(e, ".gnu_debuglink");
	Elf_Data *data = scn ? read_section(e, scn) : NULL;
	const char *file = data ? data->d_buf : NULL;
	bool valid = file && memchr(file, 0, data->d_size) && *file && !strchr(file, '/');
	return valid ? file : NULL;
}

bool elf_has_debug_info(struct elf *e)
{
	return section_named(e, ".debug_info") || section_named(e, ".zdebug_info");
}
