/* SPDX-License-Identifier: BSD-2-Clause */
#include "modules.h"

#include <dlfcn.h>
#include <ebtrace/recorder.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../confined.h"
#include "../pages.h"

#define KNOWN_MAX      8192 /* in the life of the program */
#define KNOWN_FIRST    32   /* room, which doubles */
#define HEAD_BYTES     4096 /* of a module, which are mapped */
#define SEGMENTS       4
#define BUILD_ID_BYTES 32
#define CHUNK_BYTES    (16u << 10)
#define ADDRESS_MASK   ((UINT64_C(1) << EBT_RECORDER_EPOCH_SHIFT) - 1)
#define EPOCH_MAX      ((1u << (EBT_RECORDER_CODE_BITS - EBT_RECORDER_EPOCH_SHIFT)) - 1)
#define FUNCTION_BYTES (2 + 16 + 1 + 2 * BUILD_ID_BYTES + 1)

struct segment {
	uint64_t start, end, offset;
};

struct module {
	uint64_t start, end;
	struct segment segment[SEGMENTS];
	uint8_t build_id[BUILD_ID_BYTES];
	uint8_t build_id_bytes;
	const uint8_t *build_id_at; /* in the module; NULL: it has none */
	uint16_t epoch;		    /* how many others had its addresses before */
	const char *path;
};

static struct module *known; /* all modules there ever were */
static unsigned known_count, known_room;
/* Strings that the trace's writer keeps: chunks that are never released. */
static char *chunk;
static size_t chunk_left;

static char *keep_string(const char *s)
{
	size_t bytes = strlen(s) + 1;
	if (bytes > chunk_left) {
		chunk = ebt_pages_get(CHUNK_BYTES);
		chunk_left = chunk ? CHUNK_BYTES : 0;
	}
	if (bytes > chunk_left)
		return NULL;
	char *ret = memcpy(chunk, s, bytes);
	chunk += bytes;
	chunk_left -= bytes;
	return ret;
}

static void read_note(struct module *m, const uint8_t *p, const uint8_t *end)
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
		    n.n_descsz <= BUILD_ID_BYTES) {
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

static void read_header(struct module *m, const struct headers *t, const ElfW(Phdr) * h,
			unsigned *segments)
{
	uint64_t start = t->base + h->p_vaddr;
	bool within = start >= m->start && start <= m->end && h->p_memsz <= m->end - start;
	if (h->p_type == PT_NOTE && (within || t->is_program) && is_loaded(t, h))
		read_note(m, (const uint8_t *)start, (const uint8_t *)start + h->p_memsz);
	if (h->p_type == PT_LOAD && within && h->p_flags & PF_X && *segments < SEGMENTS)
		m->segment[(*segments)++] =
			(struct segment){start, start + h->p_memsz, h->p_offset};
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

static bool find_own_headers(const struct module *m, uint64_t base, struct headers *ret)
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
static void read_headers(struct module *m, const struct link_map *map)
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

static const char *program_path(void)
{
	static char path[PATH_MAX];
	if (!*path && !ebt_confined()) {
		ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
		path[n > 0 ? n : 0] = 0;
	}
	return path;
}

/* Room for one more; what pointed into the table points nowhere. */
static bool make_room(void)
{
	if (known_count < known_room)
		return true;
	unsigned room = known_room ? known_room * 2 : KNOWN_FIRST;
	struct module *grown = room <= KNOWN_MAX ? ebt_pages_get(room * sizeof(*grown)) : NULL;
	if (!grown)
		return false;
	if (known) {
		memcpy(grown, known, known_count * sizeof(*known));
		ebt_pages_put(known, known_room * sizeof(*known));
	}
	known = grown;
	known_room = room;
	return true;
}

void ebt_modules_prepare(void)
{
	program_path();
	make_room();
}

/* The path of a module as the linker names it: "" is the program, others may be relative. */
static void make_path(const char *name, char ret[PATH_MAX])
{
	if (!*name) {
		strcpy(ret, program_path());
		return;
	}
	size_t dir = 0;
	if (!ebt_confined() && *name != '/' && strchr(name, '/') && getcwd(ret, PATH_MAX)) {
		dir = strlen(ret);
		ret[dir++] = '/';
	}
	size_t bytes = strnlen(name, PATH_MAX - 1 - dir);
	memcpy(ret + dir, name, bytes);
	ret[dir + bytes] = 0;
}

static bool same_module(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end && !strcmp(a->path, b->path) &&
	       a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

/* The last of the known modules is the one that is at its addresses now. NULL: there is no room. */
static const struct module *store_module(const struct module *m, bool *ret_replaced)
{
	unsigned epoch = 0;
	for (unsigned i = 0; i < known_count; i++) {
		if (same_module(&known[i], m)) {
			/* It is back; a code of it has the epoch that it had. */
			struct module again = known[i];
			memmove(known + i, known + i + 1, (known_count - i - 1) * sizeof(*known));
			known[known_count - 1] = again;
			*ret_replaced = true;
			return &known[known_count - 1];
		}
		if (known[i].start < m->end && m->start < known[i].end && known[i].epoch >= epoch)
			epoch = known[i].epoch + 1u;
	}
	*ret_replaced |= epoch > 0;
	const char *path = epoch <= EPOCH_MAX && make_room() ? keep_string(m->path) : NULL;
	if (!path)
		return NULL;
	known[known_count] = *m;
	known[known_count].path = path;
	known[known_count].epoch = (uint16_t)epoch;
	return &known[known_count++];
}

/* True if the module that the linker has there is the known one. */
static bool is_there(const struct module *m, const struct dl_find_object *o)
{
	const char *name = o->dlfo_link_map->l_name;
	size_t path = strlen(m->path), bytes = strlen(name);
	return m->start == (uint64_t)o->dlfo_map_start && m->end == (uint64_t)o->dlfo_map_end &&
	       bytes <= path && !strcmp(m->path + path - bytes, name) &&
	       (!m->build_id_at || !memcmp(m->build_id_at, m->build_id, m->build_id_bytes));
}

/* The module at an address of the calling thread's stack: it is not unloaded meanwhile. */
static const struct module *find_module(uint64_t address, bool *ret_replaced)
{
	static char path[PATH_MAX];
	struct dl_find_object o;
	if (_dl_find_object((void *)address, &o))
		return NULL;
	unsigned k = known_count;
	while (k && (address < known[k - 1].start || address >= known[k - 1].end))
		k--;
	if (k && is_there(&known[k - 1], &o))
		return &known[k - 1];
	struct module m = {
		.start = (uint64_t)o.dlfo_map_start,
		.end = (uint64_t)o.dlfo_map_end,
		.path = path,
	};
	make_path(o.dlfo_link_map->l_name, path);
	read_headers(&m, o.dlfo_link_map);
	return store_module(&m, ret_replaced);
}

bool ebt_modules_codes(int64_t *frame, size_t frames)
{
	const struct module *m = NULL;
	bool replaced = false;
	for (size_t i = 0; i < frames; i++) {
		uint64_t address = (uint64_t)frame[i];
		if (!m || address < m->start || address >= m->end)
			m = find_module(address, &replaced);
		if (m)
			frame[i] =
				(int64_t)(address | (uint64_t)m->epoch << EBT_RECORDER_EPOCH_SHIFT);
	}
	return replaced;
}

/* The module of a code, and the offset in its file; NULL: of none. */
static const struct module *find_code(int64_t code, uint64_t *ret_offset)
{
	uint64_t address = (uint64_t)code & ADDRESS_MASK;
	uint64_t epoch = (uint64_t)code >> EBT_RECORDER_EPOCH_SHIFT;
	for (unsigned i = 0; i < known_count; i++) {
		if (known[i].epoch != epoch)
			continue;
		for (const struct segment *s = known[i].segment; s < known[i].segment + SEGMENTS;
		     s++)
			if (address >= s->start && address < s->end) {
				*ret_offset = address - s->start + s->offset;
				return &known[i];
			}
	}
	return NULL;
}

size_t ebt_modules_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static struct ebt_memtrace_location location;
	(void)ctx;
	uint64_t offset = (uint64_t)code & ADDRESS_MASK;
	const struct module *m = find_code(code, &offset);
	char function[FUNCTION_BYTES];
	int n = snprintf(function, sizeof(function), "0x%llx", (unsigned long long)offset);
	for (unsigned i = 0; m && i < m->build_id_bytes; i++)
		n += snprintf(function + n, sizeof(function) - (size_t)n, "%s%02x", i ? "" : ":",
			      m->build_id[i]);
	location = (struct ebt_memtrace_location){
		.file = m ? m->path : "",
		.function = keep_string(function),
	};
	*ret = &location;
	return location.function ? 1 : 0;
}
