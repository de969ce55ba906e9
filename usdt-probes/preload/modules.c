/* SPDX-License-Identifier: BSD-2-Clause */
#include "modules.h"

#include <dlfcn.h>
#include <ebtrace/recorder.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../shared/confined.h"
#include "../shared/module_file.h"
#include "../shared/pages.h"

#define KNOWN_MAX    8192 /* in the life of the program */
#define KNOWN_FIRST  32	  /* room, which doubles */
#define CHUNK_BYTES  (16u << 10)
#define ADDRESS_MASK ((UINT64_C(1) << EBT_RECORDER_EPOCH_SHIFT) - 1)
#define EPOCH_MAX    ((1u << (EBT_RECORDER_CODE_BITS - EBT_RECORDER_EPOCH_SHIFT)) - 1)

struct module {
	struct ebt_module_file file;
	uint16_t epoch; /* how many others had its addresses before */
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
	return ebt_module_file_equal(&a->file, &b->file) && !strcmp(a->path, b->path);
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
		const struct ebt_module_file *f = &known[i].file;
		if (f->start < m->file.end && m->file.start < f->end && known[i].epoch >= epoch)
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
	return bytes <= path && !strcmp(m->path + path - bytes, name) &&
	       ebt_module_file_is_at(&m->file, o);
}

/* The module at an address of the calling thread's stack: it is not unloaded meanwhile. */
static const struct module *find_module(uint64_t address, bool *ret_replaced)
{
	static char path[PATH_MAX];
	struct dl_find_object o;
	if (_dl_find_object((void *)address, &o))
		return NULL;
	unsigned k = known_count;
	while (k && (address < known[k - 1].file.start || address >= known[k - 1].file.end))
		k--;
	if (k && is_there(&known[k - 1], &o))
		return &known[k - 1];
	struct module m = {.file = ebt_module_file_read(&o), .path = path};
	make_path(o.dlfo_link_map->l_name, path);
	return store_module(&m, ret_replaced);
}

bool ebt_modules_codes(int64_t *frame, size_t frames)
{
	const struct module *m = NULL;
	bool replaced = false;
	for (size_t i = 0; i < frames; i++) {
		uint64_t address = (uint64_t)frame[i];
		if (!m || address < m->file.start || address >= m->file.end)
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
	for (unsigned i = 0; i < known_count; i++)
		if (known[i].epoch == epoch &&
		    ebt_module_file_offset(&known[i].file, address, ret_offset))
			return &known[i];
	return NULL;
}

size_t ebt_modules_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static struct ebt_memtrace_location location;
	(void)ctx;
	uint64_t offset = (uint64_t)code & ADDRESS_MASK;
	const struct module *m = find_code(code, &offset);
	char function[EBT_MODULE_FUNCTION_BYTES];
	ebt_module_file_function(m ? &m->file : NULL, offset, function);
	location = (struct ebt_memtrace_location){
		.file = m ? m->path : "",
		.function = keep_string(function),
	};
	*ret = &location;
	return location.function ? 1 : 0;
}
