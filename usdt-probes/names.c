/* SPDX-License-Identifier: BSD-2-Clause */
#include "names.h"

#include <errno.h>
#include <string.h>

uint8_t ebt_user_types[EBT_RING_NAMES];
char ebt_user_names[EBT_RING_NAMES][EBT_RING_NAME_BYTES];

static uint32_t hashes[EBT_RING_NAMES];
static int registered;

uint64_t ebt_names_bytes(void)
{
	return (uint64_t)registered * EBT_RING_NAME_BYTES;
}
void ebt_names_copy(char *to)
{
	memcpy(to, ebt_user_names, ebt_names_bytes());
}

static int find(const char *name, uint32_t hash)
{
	for (int id = 0; id < registered; id++) {
		if (hashes[id] == hash && !strcmp(ebt_user_names[id], name))
			return id;
	}
	return -ENOENT;
}

static int add(const struct ebt_file *file, const char *name, size_t len, uint32_t hash,
	       enum ebt_user_type type)
{
	if (registered == EBT_RING_NAMES)
		return -ENOSPC;
	int id = registered++;
	hashes[id] = hash;
	memcpy(ebt_user_names[id], name, len);
	/* On a full disk the event has no name in the file; it is still written. */
	uint64_t at = (uint64_t)id * EBT_RING_NAME_BYTES;
	if (file->base && !ebt_file_reserve(file, file->names + at, EBT_RING_NAME_BYTES))
		memcpy(file->names + at, name, len);
	__atomic_store_n(&ebt_user_types[id], (uint8_t)(type + 1), __ATOMIC_RELEASE);
	return id;
}

int ebt_names_register(const struct ebt_file *file, const char *name, size_t len,
		       enum ebt_user_type type)
{
	uint32_t hash = 2166136261; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619;
	int id = find(name, hash);
	if (id < 0)
		return add(file, name, len, hash, type);
	return ebt_user_event_is(id, type) ? id : -EEXIST;
}
