// SPDX-License-Identifier: BSD-2-Clause
#include "module_file.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define HEAD_BYTES 4096 /* of a module, which are mapped */

static void read_note(struct ebt_module_file *m, const uint8_t *p, const uint8_t *end)
{
	while (end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		memcpy(&n, p, sizeof(n));
		p += sizeof(n);
		uint64_t name = ((uint64_t)n.n_namesz + 3) & ~3ull;
		uint64_t desc = ((uint64_t)n.n_descsz + 3) & ~3ull;
		if (name + desc > (uint64_t)(end - p))
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(p, "GNU", 4) &&
		    n.n_descsz <= EBT_MODULE_BUILD_ID_BYTES) {
			m->build_id_bytes = (uint8_t)n.n_descsz;
			m->build_id_at = p + name;
			memcpy(m->build_id, m->build_id_at, n.n_descsz);
		}
		p += name + desc;
	}
}

/* The program headers of a module, in memory. */
struct headers {
	const uint8_t *at;
	size_t count;
	uint64_t base; /* is added to its addresses */
	bool is_program;
};

static ElfW(Phdr) header_at(const struct headers *t, size_t i)
{
	ElfW(Phdr) h;
	memcpy(&h, t->at + i * sizeof(h), sizeof(h));
	return h;
}

static bool is_loaded(const struct headers *t, const ElfW(Phdr) * h)
{
	for (size_t i = 0; i < t->count; i++) {
		ElfW(Phdr) l = header_at(t, i);
		if (l.p_type == PT_LOAD && l.p_flags & PF_R && h->p_vaddr >= l.p_vaddr &&
		    h->p_memsz <= l.p_filesz && h->p_vaddr - l.p_vaddr <= l.p_filesz - h->p_memsz)
			return true;
	}
	return false;
}

static void read_header(struct ebt_module_file *m, const struct headers *t, const ElfW(Phdr) * h,
			unsigned *segments)
{
	uint64_t start = t->base + h->p_vaddr;
	bool within = start >= m->start && start <= m->end && h->p_memsz <= m->end - start;
	if (h->p_type == PT_NOTE && (within || t->is_program) && is_loaded(t, h))
		read_note(m, (const uint8_t *)start, (const uint8_t *)start + h->p_memsz);
	if (h->p_type == PT_LOAD && within && h->p_flags & PF_X && *segments < EBT_MODULE_SEGMENTS)
		m->segment[(*segments)++] =
			(struct ebt_module_segment){start, start + h->p_memsz, h->p_offset};
}

/*
 * Where segments are aligned to more than a page, the kernel leaves holes between those of the
 * program, in which other modules may lie. For _dl_find_object() each segment is then an object of
 * its own, and only the first one begins with the ELF header. Libraries have no holes, as the
 * dynamic linker fills them. False: the headers that the kernel has passed are not the program's.
 */
static bool find_program_headers(uint64_t base, struct headers *ret)
{
	uint64_t at = getauxval(AT_PHDR), count = getauxval(AT_PHNUM);
	*ret = (struct headers){(const uint8_t *)at, count, base, true};
	if (!at || count > HEAD_BYTES / sizeof(ElfW(Phdr)) ||
	    getauxval(AT_PHENT) != sizeof(ElfW(Phdr)))
		return false;
	for (size_t i = 0; i < count; i++) {
		ElfW(Phdr) h = header_at(ret, i);
		if (h.p_type == PT_PHDR)
			return base + h.p_vaddr == at;
	}
	return false;
}

static bool find_own_headers(const struct ebt_module_file *m, uint64_t base, struct headers *ret)
{
	const uint8_t *head = (const uint8_t *)m->start;
	ElfW(Ehdr) e;
	memcpy(&e, head, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof(ElfW(Phdr)) ||
	    e.e_phoff > HEAD_BYTES || e.e_phnum > (HEAD_BYTES - e.e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	*ret = (struct headers){head + e.e_phoff, e.e_phnum, base, false};
	return true;
}

/* Only the program has no name. */
static void read_headers(struct ebt_module_file *m, const struct link_map *map)
{
	struct headers t;
	unsigned segments = 0;
	bool is_found = !*map->l_name && find_program_headers(map->l_addr, &t);
	if (!is_found && !find_own_headers(m, map->l_addr, &t))
		return;
	for (size_t i = 0; i < t.count; i++) {
		ElfW(Phdr) h = header_at(&t, i);
		read_header(m, &t, &h, &segments);
	}
}

struct ebt_module_file ebt_module_file_read(const struct dl_find_object *at)
{
	struct ebt_module_file m = {
		.start = (uint64_t)at->dlfo_map_start,
		.end = (uint64_t)at->dlfo_map_end,
	};
	read_headers(&m, at->dlfo_link_map);
	return m;
}

bool ebt_module_file_is_at(const struct ebt_module_file *m, const struct dl_find_object *at)
{
	return m->start == (uint64_t)at->dlfo_map_start && m->end == (uint64_t)at->dlfo_map_end &&
	       (!m->build_id_at || !memcmp(m->build_id_at, m->build_id, m->build_id_bytes));
}

bool ebt_module_file_equal(const struct ebt_module_file *a, const struct ebt_module_file *b)
{
	return a->start == b->start && a->end == b->end && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

bool ebt_module_file_offset(const struct ebt_module_file *m, uint64_t address, uint64_t *ret_offset)
{
	for (const struct ebt_module_segment *s = m->segment; s < m->segment + EBT_MODULE_SEGMENTS;
	     s++)
		if (address >= s->start && address < s->end) {
			*ret_offset = address - s->start + s->offset;
			return true;
		}
	return false;
}

void ebt_module_file_function(const struct ebt_module_file *m, uint64_t offset,
			      char ret[EBT_MODULE_FUNCTION_BYTES])
{
	static const char digit[] = "0123456789abcdef";
	int digits = 1;
	while (digits < 16 && offset >> 4 * digits)
		digits++;
	*ret++ = '0';
	*ret++ = 'x';
	while (digits--)
		*ret++ = digit[offset >> 4 * digits & 15];
	if (m && m->build_id_bytes)
		*ret++ = ':';
	for (unsigned i = 0; m && i < m->build_id_bytes; i++) {
		*ret++ = digit[m->build_id[i] >> 4];
		*ret++ = digit[m->build_id[i] & 15];
	}
	*ret = 0;
}
