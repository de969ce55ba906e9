// SPDX-License-Identifier: BSD-2-Clause
#include "module_positions.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define MODULES	     256
#define MODULE_BYTES 512
#define CALLS	     32768 /* a power of two */
#define CALL_TRIES   64

/* Entries are added by any thread, and never change. Equal ones do no harm. */
static struct module {
	uint32_t ready;
	char path[MODULE_BYTES];
} modules[MODULES];
static uint32_t module_count;

static struct call {
	uint64_t address; /* 0: free */
	uint32_t ready;
	char text[20];
} calls[CALLS];

static const char *find_path(const char *path)
{
	for (int i = 0; i < MODULES; i++)
		if (__atomic_load_n(&modules[i].ready, __ATOMIC_ACQUIRE) &&
		    !strcmp(modules[i].path, path))
			return modules[i].path;
	return NULL;
}

/* The library may be unloaded, so its name is copied. NULL: there is no room. */
static const char *keep_path(const char *path)
{
	char own[MODULE_BYTES];
	if (!*path) { /* the program itself */
		ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
		own[n > 0 ? n : 0] = 0;
		path = own;
	}
	const char *known = find_path(path);
	if (known || strlen(path) >= MODULE_BYTES)
		return known;
	uint32_t i = __atomic_load_n(&module_count, __ATOMIC_RELAXED);
	if (i >= MODULES || (i = __atomic_fetch_add(&module_count, 1, __ATOMIC_RELAXED)) >= MODULES)
		return NULL;
	strcpy(modules[i].path, path);
	__atomic_store_n(&modules[i].ready, 1, __ATOMIC_RELEASE);
	return modules[i].path;
}

static void write_text(char *text, uint64_t address)
{
	int digits = 1;
	while (digits < 16 && address >> 4 * digits)
		digits++;
	*text++ = '+';
	*text++ = '0';
	*text++ = 'x';
	while (digits--)
		*text++ = "0123456789abcdef"[address >> 4 * digits & 15];
	*text = 0;
}

/* The text of an address in some module; NULL: there is no room. */
static const char *keep_text(uint64_t address)
{
	uint64_t at = address * 0x9e3779b97f4a7c15ull >> 32;
	for (int i = 0; i < CALL_TRIES; i++) {
		struct call *c = &calls[(at + (uint64_t)i) % CALLS];
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&c->address, &none, address, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			write_text(c->text, address);
			__atomic_store_n(&c->ready, 1, __ATOMIC_RELEASE);
			return c->text;
		}
		/* Another thread may be at it just now: then the next entry will do. */
		if (none == address && __atomic_load_n(&c->ready, __ATOMIC_ACQUIRE))
			return c->text;
	}
	return NULL;
}

size_t ebt_module_location(void *ctx, int64_t address, const struct ebt_memtrace_location **ret)
{
	static __thread struct ebt_memtrace_location location;
	struct dl_find_object found;
	void *call = (void *)(uintptr_t)(address - 1); /* in the call, not behind it */
	(void)ctx;
	if (_dl_find_object(call, &found))
		return 0;
	location.file = keep_path(found.dlfo_link_map->l_name);
	location.function = keep_text((uint64_t)call - found.dlfo_link_map->l_addr);
	if (!location.file || !location.function)
		return 0;
	*ret = &location;
	return 1;
}
