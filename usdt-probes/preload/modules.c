/* SPDX-License-Identifier: BSD-2-Clause */
#include "modules.h"

#include <ebtrace/recorder.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../pages.h"

#define MODULES_MAX    1024 /* at a time */
#define KNOWN_MAX      8192 /* in the life of the program */
#define SEGMENTS       4
#define BUILD_ID_BYTES 32
#define CHUNK_BYTES    (64u << 10)
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
	uint16_t epoch; /* how many others had its addresses before */
	const char *path;
};

struct ebt_modules_snapshot {
	uint64_t changes; /* of the linker's list */
	unsigned count;
	struct module module[MODULES_MAX];
	char path[MODULES_MAX][PATH_MAX]; /* only pages that are written to take memory */
};

static uint64_t stored_changes; /* of the snapshot that was stored last; read without the lock */
static struct module *known;	/* all modules there ever were */
static unsigned known_count;
static bool has_epochs;
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
			memcpy(m->build_id, p + name, n.n_descsz);
		}
		p += name + desc;
	}
}

static void read_headers(struct module *m, const struct dl_phdr_info *i)
{
	unsigned segments = 0;
	m->start = UINT64_MAX;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *h = &i->dlpi_phdr[k];
		uint64_t start = i->dlpi_addr + h->p_vaddr;
		if (h->p_type == PT_NOTE)
			read_note(m, (const uint8_t *)start, (const uint8_t *)start + h->p_memsz);
		if (h->p_type != PT_LOAD)
			continue;
		m->start = start < m->start ? start : m->start;
		m->end = start + h->p_memsz > m->end ? start + h->p_memsz : m->end;
		if (h->p_flags & PF_X && segments < SEGMENTS)
			m->segment[segments++] =
				(struct segment){start, start + h->p_memsz, h->p_offset};
	}
}

/* The path of a module as the linker names it: "" is the program, others may be relative. */
static void make_path(const char *name, char ret[PATH_MAX])
{
	if (!*name) {
		ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
		ret[n > 0 ? n : 0] = 0;
		return;
	}
	size_t dir = 0;
	if (*name != '/' && strchr(name, '/') && getcwd(ret, PATH_MAX)) {
		dir = strlen(ret);
		ret[dir++] = '/';
	}
	size_t bytes = strnlen(name, PATH_MAX - 1 - dir);
	memcpy(ret + dir, name, bytes);
	ret[dir + bytes] = 0;
}

static int add_module(struct dl_phdr_info *i, size_t size, void *ctx)
{
	struct ebt_modules_snapshot *s = ctx;
	(void)size;
	s->changes = i->dlpi_adds + i->dlpi_subs;
	if (s->count == MODULES_MAX)
		return 1;
	struct module *m = &s->module[s->count];
	read_headers(m, i);
	if (m->start >= m->end)
		return 0;
	make_path(i->dlpi_name, s->path[s->count]);
	m->path = s->path[s->count++];
	return 0;
}

static int read_changes(struct dl_phdr_info *i, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = i->dlpi_adds + i->dlpi_subs;
	return 1;
}

struct ebt_modules_snapshot *ebt_modules_snapshot(void)
{
	uint64_t changes = 0;
	dl_iterate_phdr(read_changes, &changes);
	if (changes == __atomic_load_n(&stored_changes, __ATOMIC_RELAXED))
		return NULL;
	struct ebt_modules_snapshot *s = ebt_pages_get(sizeof(*s));
	int err = errno;
	if (s)
		dl_iterate_phdr(add_module, s);
	errno = err;
	return s;
}

static bool same_module(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end && !strcmp(a->path, b->path) &&
	       a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static void store_module(const struct module *m)
{
	unsigned epoch = 0;
	for (unsigned i = 0; i < known_count; i++) {
		if (same_module(&known[i], m)) {
			/* It is back; a code of it has the epoch that it had. */
			struct module again = known[i];
			memmove(known + i, known + i + 1, (known_count - i - 1) * sizeof(*known));
			known[known_count - 1] = again;
			return;
		}
		if (known[i].start < m->end && m->start < known[i].end && known[i].epoch >= epoch)
			epoch = known[i].epoch + 1u;
	}
	const char *path =
		known_count < KNOWN_MAX && epoch <= EPOCH_MAX ? keep_string(m->path) : NULL;
	if (!path)
		return;
	known[known_count] = *m;
	known[known_count].path = path;
	known[known_count++].epoch = (uint16_t)epoch;
	has_epochs |= epoch > 0;
}

void ebt_modules_store(struct ebt_modules_snapshot *s)
{
	if (!s)
		return;
	if (!known)
		known = ebt_pages_get(KNOWN_MAX * sizeof(*known));
	for (unsigned i = 0; known && i < s->count; i++)
		store_module(&s->module[i]);
	__atomic_store_n(&stored_changes, s->changes, __ATOMIC_RELAXED);
	ebt_pages_put(s, sizeof(*s));
}

void ebt_modules_codes(int64_t *frame, size_t frames)
{
	if (!has_epochs)
		return;
	for (size_t i = 0; i < frames; i++) {
		uint64_t address = (uint64_t)frame[i];
		unsigned k = known_count; /* of several at one address the last is the one now */
		while (k && (address < known[k - 1].start || address >= known[k - 1].end))
			k--;
		if (k)
			frame[i] = (int64_t)(address | (uint64_t)known[k - 1].epoch
							       << EBT_RECORDER_EPOCH_SHIFT);
	}
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
