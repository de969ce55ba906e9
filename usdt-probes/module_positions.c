// SPDX-License-Identifier: BSD-2-Clause
#include "module_positions.h"

#include <dlfcn.h>
#include <ebtrace/recorder.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "shared/module_file.h"

#define MODULES	     256
#define MODULE_BYTES 512
#define CALLS	     32768 /* a power of two */
#define CALL_TRIES   64
#define ADDRESS_MASK ((UINT64_C(1) << EBT_RECORDER_EPOCH_SHIFT) - 1)
#define EPOCH_MAX    ((1u << (EBT_RECORDER_CODE_BITS - EBT_RECORDER_EPOCH_SHIFT)) - 1)

/* Entries are added by any thread, and never change. Equal ones do no harm. */
static struct module {
	uint32_t ready;
	uint32_t epoch; /* how many others had its addresses before */
	struct ebt_module_file file;
	const char *name; /* the end of `path`: as the linker names it; "": the program */
	char path[MODULE_BYTES];
} modules[MODULES];
static uint32_t module_count;

static struct call {
	uint64_t key; /* 0: free */
	uint32_t ready;
	char function[EBT_MODULE_FUNCTION_BYTES];
} calls[CALLS];

static bool is_ready(const struct module *m)
{
	/* Pairs with the release in add_module(). */
	return __atomic_load_n(&m->ready, __ATOMIC_ACQUIRE);
}

/* The absolute path of a module, and the linker's name of it in that. False: it is too long. */
static bool make_path(struct module *m, const char *name)
{
	size_t dir = 0, bytes = strlen(name);
	if (!*name) {
		ssize_t n = readlink("/proc/self/exe", m->path, MODULE_BYTES - 1);
		m->path[n > 0 ? n : 0] = 0;
		m->name = m->path + strlen(m->path);
		return true;
	}
	if (*name != '/' && strchr(name, '/') && getcwd(m->path, MODULE_BYTES)) {
		dir = strlen(m->path);
		m->path[dir++] = '/';
	}
	if (bytes >= MODULE_BYTES - dir)
		return false;
	memcpy(m->path + dir, name, bytes + 1);
	m->name = m->path + dir;
	return true;
}

static uint32_t next_epoch(const struct ebt_module_file *file)
{
	uint32_t epoch = 0;
	for (int i = 0; i < MODULES; i++) {
		const struct module *m = &modules[i];
		if (is_ready(m) && m->file.start < file->end && file->start < m->file.end &&
		    m->epoch >= epoch)
			epoch = m->epoch + 1;
	}
	return epoch;
}

/* NULL: there is no room. */
static const struct module *add_module(const struct dl_find_object *at)
{
	uint32_t i = __atomic_load_n(&module_count, __ATOMIC_RELAXED);
	if (i >= MODULES)
		return NULL;
	struct ebt_module_file file = ebt_module_file_read(at);
	uint32_t epoch = next_epoch(&file);
	if (epoch > EPOCH_MAX ||
	    (i = __atomic_fetch_add(&module_count, 1, __ATOMIC_RELAXED)) >= MODULES)
		return NULL;
	struct module *m = &modules[i];
	m->file = file;
	m->epoch = epoch;
	if (!make_path(m, at->dlfo_link_map->l_name))
		return NULL;
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
	return m;
}

/* The module at an address of the calling thread's stack: it is not unloaded meanwhile. */
static const struct module *find_module(uint64_t address)
{
	struct dl_find_object at;
	if (_dl_find_object((void *)(uintptr_t)address, &at))
		return NULL;
	for (int i = 0; i < MODULES; i++)
		if (is_ready(&modules[i]) && ebt_module_file_is_at(&modules[i].file, &at) &&
		    !strcmp(modules[i].name, at.dlfo_link_map->l_name))
			return &modules[i];
	return add_module(&at);
}

void ebt_module_codes(int64_t *frame, size_t frames)
{
	const struct module *m = NULL;
	for (size_t i = 0; i < frames; i++) {
		uint64_t call = (uint64_t)frame[i] - 1; /* not behind it */
		if (!m || call < m->file.start || call >= m->file.end)
			m = find_module(call);
		if (m)
			frame[i] |= (int64_t)((uint64_t)m->epoch << EBT_RECORDER_EPOCH_SHIFT);
	}
}

/* The function of an offset in a module; NULL: there is no room. */
static const char *keep_function(const struct module *m, uint64_t offset)
{
	uint64_t key = (offset + 1) * MODULES + (uint64_t)(m - modules);
	uint64_t at = key * 0x9e3779b97f4a7c15ull >> 32;
	for (int i = 0; i < CALL_TRIES; i++) {
		struct call *c = &calls[(at + (uint64_t)i) % CALLS];
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&c->key, &none, key, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			ebt_module_file_function(&m->file, offset, c->function);
			__atomic_store_n(&c->ready, 1, __ATOMIC_RELEASE);
			return c->function;
		}
		/* Another thread may be at it just now: then the next entry will do. */
		if (none == key && __atomic_load_n(&c->ready, __ATOMIC_ACQUIRE))
			return c->function;
	}
	return NULL;
}

size_t ebt_module_location(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static __thread struct ebt_memtrace_location location;
	uint64_t call = ((uint64_t)code & ADDRESS_MASK) - 1, offset;
	uint64_t epoch = (uint64_t)code >> EBT_RECORDER_EPOCH_SHIFT;
	(void)ctx;
	for (int i = 0; i < MODULES; i++) {
		const struct module *m = &modules[i];
		if (!is_ready(m) || m->epoch != epoch ||
		    !ebt_module_file_offset(&m->file, call, &offset))
			continue;
		location.file = m->path;
		location.function = keep_function(m, offset);
		if (!location.function)
			return 0;
		*ret = &location;
		return 1;
	}
	return 0;
}
