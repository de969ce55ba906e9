// SPDX-License-Identifier: BSD-2-Clause
#include "elf/notes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "elf/machine.h"

/* Above any real file's, small enough that a hostile one costs nothing. */
#define MAX_HEADERS_BYTES (8u << 20)
#define MAX_NAMES_BYTES	  (8u << 20)
#define MAX_NOTES_BYTES	  (16u << 20)
#define MAX_SEGMENTS	  256 /* each note is searched in them */
#define NT_STAPSDT	  3

struct elf {
	int fd;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	Elf64_Shdr *sh;
	uint32_t phnum, shnum, shstrndx;
	char *names;
	size_t names_bytes;
};

/* The fixed part of a note's description; three strings follow it. */
struct stapsdt {
	uint64_t pc, base, semaphore;
};

static int read_at(int fd, void *buf, size_t bytes, uint64_t offset)
{
	ssize_t n = file_read_at(fd, buf, bytes, offset);
	return n < 0 ? (int)n : (size_t)n == bytes ? 0 : -EBADMSG;
}

/* A block of the file with a NUL behind it, so that a string in it always ends. */
static int read_block(int fd, uint64_t offset, uint64_t bytes, uint64_t max, void **ret)
{
	if (bytes > max || offset > INT64_MAX - bytes)
		return -EBADMSG;
	char *p = malloc(bytes + 1);
	if (!p)
		return -ENOMEM;
	int err = read_at(fd, p, bytes, offset);
	if (err) {
		free(p);
		return err;
	}
	p[bytes] = 0;
	*ret = p;
	return 0;
}

static int read_headers(struct elf *e)
{
	int err = read_at(e->fd, &e->eh, sizeof(e->eh), 0);
	if (err)
		return err == -EBADMSG ? -ENOEXEC : err;
	if (machine_check_head((const unsigned char *)&e->eh, sizeof(e->eh), NULL))
		return -ENOEXEC;
	const Elf64_Ehdr *eh = &e->eh;
	if (!eh->e_shoff)
		return 0;
	if (eh->e_shentsize != sizeof(*e->sh) || (eh->e_phnum && eh->e_phentsize != sizeof(*e->ph)))
		return -EBADMSG;

	/* Section 0 has the numbers that do not fit in the header. */
	Elf64_Shdr zero;
	err = read_at(e->fd, &zero, sizeof(zero), eh->e_shoff);
	if (err)
		return err;
	uint64_t shnum = eh->e_shnum ? eh->e_shnum : zero.sh_size;
	if (shnum > MAX_HEADERS_BYTES / sizeof(*e->sh))
		return -EBADMSG;
	e->shnum = (uint32_t)shnum;
	e->phnum = eh->e_phnum == PN_XNUM ? zero.sh_info : eh->e_phnum;
	e->shstrndx = eh->e_shstrndx == SHN_XINDEX ? zero.sh_link : eh->e_shstrndx;
	if (e->shstrndx >= e->shnum || e->phnum > MAX_SEGMENTS)
		return -EBADMSG;

	err = read_block(e->fd, eh->e_phoff, (uint64_t)e->phnum * sizeof(*e->ph), MAX_HEADERS_BYTES,
			 (void **)&e->ph);
	if (err)
		return err;
	err = read_block(e->fd, eh->e_shoff, shnum * sizeof(*e->sh), MAX_HEADERS_BYTES,
			 (void **)&e->sh);
	if (err)
		return err;
	const Elf64_Shdr *names = &e->sh[e->shstrndx];
	e->names_bytes = names->sh_size;
	return read_block(e->fd, names->sh_offset, names->sh_size, MAX_NAMES_BYTES,
			  (void **)&e->names);
}

static const Elf64_Shdr *find_section(const struct elf *e, const char *name, uint32_t type)
{
	for (uint32_t i = 1; i < e->shnum; i++) {
		const Elf64_Shdr *sh = &e->sh[i];
		if (sh->sh_type == type && sh->sh_name < e->names_bytes &&
		    !strcmp(e->names + sh->sh_name, name))
			return sh;
	}
	return NULL;
}

/* False: no loadable segment with these permissions has this address in the file. */
static bool file_offset(const struct elf *e, uint64_t addr, uint32_t flags, uint64_t *ret)
{
	for (uint32_t i = 0; i < e->phnum; i++) {
		const Elf64_Phdr *ph = &e->ph[i];
		if (ph->p_type != PT_LOAD || (ph->p_flags & flags) != flags || addr < ph->p_vaddr ||
		    addr - ph->p_vaddr >= ph->p_filesz)
			continue;
		uint64_t offset = addr - ph->p_vaddr + ph->p_offset;
		if (offset > INT64_MAX)
			return false;
		*ret = offset;
		return true;
	}
	return false;
}

/* Cuts the next string off [*p, end). */
static const char *next_string(const char **p, const char *end)
{
	const char *s = *p, *nul = memchr(s, 0, (size_t)(end - s));
	if (nul)
		*p = nul + 1;
	return nul ? s : NULL;
}

/* `base`: the address of .stapsdt.base now, 0 if it is missing. */
static bool parse_site(const struct elf *e, uint64_t base, const char *desc, uint32_t bytes,
		       struct notes_site *ret)
{
	struct stapsdt fixed;
	if (bytes < sizeof(fixed))
		return false;
	memcpy(&fixed, desc, sizeof(fixed));
	const char *p = desc + sizeof(fixed), *end = desc + bytes;
	ret->provider = next_string(&p, end);
	ret->name = ret->provider ? next_string(&p, end) : NULL;
	ret->args = ret->name ? next_string(&p, end) : NULL;
	if (!ret->args)
		return false;

	/* prelink moved the whole file, but not the addresses in the notes. */
	uint64_t moved = base ? base - fixed.base : 0;
	ret->address = fixed.pc + moved;
	if (!file_offset(e, ret->address, PF_X, &ret->offset))
		return false;
	ret->semaphore = 0;
	return !fixed.semaphore || file_offset(e, fixed.semaphore + moved, PF_W, &ret->semaphore);
}

/* Adds the site if it is wanted; -ENOMEM. */
static int add_site(struct notes *n, size_t *cap, const struct notes_site *site)
{
	if (n->sites == NOTES_MAX) {
		n->skipped++;
		return 0;
	}
	if (!array_reserve(n->site, *cap, n->sites))
		return -ENOMEM;
	n->site[n->sites++] = *site;
	return 0;
}

static int parse_notes(const struct elf *e, uint64_t bytes, const char *provider, struct notes *n)
{
	const Elf64_Shdr *base_sh = find_section(e, ".stapsdt.base", SHT_PROGBITS);
	uint64_t base = base_sh ? base_sh->sh_addr : 0;
	size_t cap = 0;

	for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
		Elf64_Nhdr nh;
		memcpy(&nh, n->strings + at, sizeof(nh));
		uint64_t name = at + sizeof(nh);
		uint64_t desc = name + (((uint64_t)nh.n_namesz + 3) & ~3ull);
		if (desc + nh.n_descsz > bytes) {
			n->skipped++;
			break;
		}
		at = desc + (((uint64_t)nh.n_descsz + 3) & ~3ull);
		if (nh.n_type != NT_STAPSDT || nh.n_namesz != sizeof("stapsdt") ||
		    memcmp(n->strings + name, "stapsdt", sizeof("stapsdt")))
			continue;
		struct notes_site site;
		if (!parse_site(e, base, n->strings + desc, nh.n_descsz, &site)) {
			n->skipped++;
			continue;
		}
		if (provider && strcmp(site.provider, provider))
			continue;
		int err = add_site(n, &cap, &site);
		if (err)
			return err;
	}
	return 0;
}

int notes_read(int fd, const char *provider, struct notes *ret)
{
	struct elf e = {.fd = fd};
	struct notes n = {0};
	int err = read_headers(&e);
	if (err)
		goto out;
	const Elf64_Shdr *sh = e.sh ? find_section(&e, ".note.stapsdt", SHT_NOTE) : NULL;
	if (sh) {
		err = read_block(fd, sh->sh_offset, sh->sh_size, MAX_NOTES_BYTES,
				 (void **)&n.strings);
		if (!err)
			err = parse_notes(&e, sh->sh_size, provider, &n);
	}
	if (err)
		notes_done(&n);
	else
		*ret = n;
out:
	free(e.ph);
	free(e.sh);
	free(e.names);
	return err;
}

void notes_done(struct notes *n)
{
	free(n->site);
	free(n->strings);
	*n = (struct notes){0};
}
