/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/mem_modules.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/ptrmap.h"
#include "base/regular.h"
#include "elf/symbols.h"

/* A trace may name any number of files, and each open module has descriptors. */
#define MODULES_MAX 1024

struct module {
	char *path;
	uint8_t build_id[SYMBOLS_BUILD_ID_BYTES];
	size_t build_id_bytes;
	struct symbols *symbols;
	struct module *next; /* of one hash */
};

struct mem_modules {
	PTRMAP(struct module) by_hash;
	struct symbols_running running;
	unsigned count;
	const char *changed; /* a module's path */
};

/* A frame as the recorder names it. */
struct frame {
	uint64_t offset;
	uint8_t build_id[SYMBOLS_BUILD_ID_BYTES];
	size_t build_id_bytes;
};

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: it is not as the recorder writes it. */
static bool parse_frame(const char *s, struct frame *ret)
{
	*ret = (struct frame){0};
	if (strncmp(s, "0x", 2))
		return false;
	s += 2;
	if (digit(*s) < 0)
		return false;
	for (; digit(*s) >= 0; s++)
		ret->offset = ret->offset << 4 | (unsigned)digit(*s);
	if (*s == ':')
		s++;
	while (digit(s[0]) >= 0 && digit(s[1]) >= 0) {
		if (ret->build_id_bytes == sizeof(ret->build_id))
			return false;
		ret->build_id[ret->build_id_bytes++] = (uint8_t)(digit(s[0]) << 4 | digit(s[1]));
		s += 2;
	}
	return !*s;
}

int mem_modules_new(const struct messages *messages, struct mem_modules **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->running.messages = messages;
	return 0;
}

static void free_module(struct module *m)
{
	symbols_close(m->symbols);
	free(m->path);
	free(m);
}

void mem_modules_free(struct mem_modules *m)
{
	size_t at = 0;
	struct module *one;
	if (!m)
		return;
	while ((one = ptrmap_next(&m->by_hash, &at)))
		while (one) {
			struct module *next = one->next;
			free_module(one);
			one = next;
		}
	ptrmap_done(&m->by_hash);
	symbols_running_done(&m->running);
	free(m);
}

const char *mem_modules_changed(const struct mem_modules *m)
{
	return m->changed;
}

static bool has_build_id(const struct symbols *s, const struct frame *f)
{
	const uint8_t *id;
	size_t bytes = symbols_build_id(s, &id);
	return bytes == f->build_id_bytes && !memcmp(id, f->build_id, bytes);
}

/* Opens the symbols of a module; without the file if it is not the one that was loaded, or if
 * MODULES_MAX modules were opened before. 0 or -ENOMEM. */
static int open_symbols(struct mem_modules *m, struct module *one, const struct frame *f)
{
	bool is_one_more = m->count++ >= MODULES_MAX;
	int fd = *one->path == '/' && !is_one_more ? regular_open(one->path, 0, 0) : -1;
	int err = symbols_open(fd, one->path, &m->running, &one->symbols);
	if (!err && fd >= 0 && !has_build_id(one->symbols, f)) {
		symbols_close(one->symbols);
		one->symbols = NULL;
		m->changed = one->path;
		err = symbols_open(-1, one->path, &m->running, &one->symbols);
	}
	if (fd >= 0)
		close(fd);
	else if (*one->path == '/' && !is_one_more)
		m->changed = one->path;
	return err;
}

static bool is_of(const struct module *one, const char *path, const struct frame *f)
{
	return !strcmp(one->path, path) && one->build_id_bytes == f->build_id_bytes &&
	       !memcmp(one->build_id, f->build_id, f->build_id_bytes);
}

/* NULL: no memory. */
static struct module *find_module(struct mem_modules *m, const char *path, const struct frame *f)
{
	uint64_t hash = hash_bytes(hash_start(), path, strlen(path));
	struct module *first = ptrmap_get(&m->by_hash, hash), *one = first;
	while (one && !is_of(one, path, f))
		one = one->next;
	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->path = strdup(path);
	one->build_id_bytes = f->build_id_bytes;
	memcpy(one->build_id, f->build_id, f->build_id_bytes);
	one->next = first;
	if (!one->path || open_symbols(m, one, f) || ptrmap_set(&m->by_hash, hash, one)) {
		m->changed = m->changed == one->path ? NULL : m->changed;
		free_module(one);
		return NULL;
	}
	return one;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool mem_modules_named(const struct ebt_memtrace_location *frame)
{
	struct frame f;
	return frame->file && *frame->file && frame->function && parse_frame(frame->function, &f);
}

size_t mem_modules_find(struct mem_modules *m, const struct ebt_memtrace_location *frame,
			struct ebt_memtrace_location **ret)
{
	struct frame f;
	const struct symbols_position *p = NULL;
	if (!mem_modules_named(frame) || !parse_frame(frame->function, &f)) {
		*ret = malloc(sizeof(**ret));
		if (*ret)
			**ret = (struct ebt_memtrace_location){
				.file = frame->file ? frame->file : "",
				.function = frame->function ? frame->function : "??",
			};
		return *ret != NULL;
	}
	struct module *one = find_module(m, frame->file, &f);
	unsigned count = one ? symbols_find(one->symbols, f.offset, &p) : 0;
	*ret = count ? calloc(count, sizeof(**ret)) : NULL;
	if (!*ret)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		uint16_t column = p[i].column > UINT16_MAX ? UINT16_MAX : (uint16_t)p[i].column;
		(*ret)[i] = (struct ebt_memtrace_location){
			.file = p[i].file ? p[i].file : base_name(one->path),
			.function = p[i].function ? p[i].function : "??",
			.line = p[i].line,
			.first_char = column,
			.last_char = column,
		};
	}
	return count;
}
