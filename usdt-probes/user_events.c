/* SPDX-License-Identifier: BSD-2-Clause */
#include "user_events.h"

#include <errno.h>
#include <string.h>

#include "control.h"

uint8_t ebt_user_types[EBT_RING_NAMES];
char ebt_user_names[EBT_RING_NAMES][EBT_RING_NAME_BYTES];

static uint32_t hashes[EBT_RING_NAMES];
static int registered;

uint64_t ebt_user_events_bytes(void)
{
	return (uint64_t)registered * EBT_RING_NAME_BYTES;
}
void ebt_user_events_copy(char *names)
{
	memcpy(names, ebt_user_names, ebt_user_events_bytes());
}

static int find(const char *name, uint32_t hash)
{
	for (int id = 0; id < registered; id++) {
		if (hashes[id] == hash && !strcmp(ebt_user_names[id], name))
			return id;
	}
	return -ENOENT;
}

static int add(const char *name, size_t len, uint32_t hash, enum ebt_user_type type)
{
	if (registered == EBT_RING_NAMES)
		return -ENOSPC;
	int id = registered++;
	hashes[id] = hash;
	memcpy(ebt_user_names[id], name, len);
	struct ebt_file *file = ebt_current_file();
	/* On a full disk the event has no name in the file; it is written all the same. */
	uint64_t at = (uint64_t)id * EBT_RING_NAME_BYTES;
	if (file->base && !ebt_file_reserve(file, file->names + at, EBT_RING_NAME_BYTES))
		memcpy(file->names + at, name, len);
	__atomic_store_n(&ebt_user_types[id], (uint8_t)(type + 1), __ATOMIC_RELEASE);
	return id;
}

int ebt_register(const char *name, enum ebt_user_type type)
{
	size_t len = name ? strnlen(name, EBT_RING_NAME_BYTES) : 0;
	if (!len || len == EBT_RING_NAME_BYTES || (unsigned int)type > EBT_USER_CUSTOM)
		return -EINVAL;
	uint32_t hash = 2166136261; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619;

	ebt_lock();
	int id = find(name, hash);
	if (id < 0)
		id = add(name, len, hash, type);
	else if (!ebt_user_event_is(id, type))
		id = -EEXIST;
	ebt_unlock();
	return id;
}
