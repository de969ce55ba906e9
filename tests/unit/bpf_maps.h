/* SPDX-License-Identifier: BSD-2-Clause */
/* Hash maps of the kernel, for BPF programs that are included as user programs (bpf_helpers.h). */
#ifndef TESTS_BPF_MAPS_H
#define TESTS_BPF_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BPF_MAP_TYPE_HASH 1
#define BPF_F_NO_PREALLOC 1

struct map_entry {
	const void *map;
	unsigned char key[16];
	void *value;
};
static struct map_entry map_entry[8192];
static unsigned map_entries;
static bool maps_full;

static struct map_entry *map_find(const void *map, const void *key, size_t bytes)
{
	for (unsigned i = 0; i < map_entries; i++)
		if (map_entry[i].map == map && !memcmp(map_entry[i].key, key, bytes))
			return &map_entry[i];
	return NULL;
}

static void *map_lookup(const void *map, const void *key, size_t bytes)
{
	struct map_entry *e = map_find(map, key, bytes);
	return e ? e->value : NULL;
}

static long map_add(const void *map, const void *key, size_t key_bytes, const void *value,
		    size_t bytes)
{
	if (map_find(map, key, key_bytes))
		return -17;
	if (maps_full || map_entries == sizeof(map_entry) / sizeof(*map_entry))
		return -7;
	struct map_entry *e = &map_entry[map_entries++];
	e->map = map;
	memset(e->key, 0, sizeof(e->key));
	memcpy(e->key, key, key_bytes);
	e->value = malloc(bytes);
	if (!e->value)
		abort();
	memcpy(e->value, value, bytes);
	return 0;
}

__attribute__((unused)) static void map_remove(const void *map, const void *key, size_t bytes)
{
	struct map_entry *e = map_find(map, key, bytes);
	if (!e)
		return;
	free(e->value);
	*e = map_entry[--map_entries];
}

#define bpf_map_lookup_elem(map, k) ((typeof((map)->value))map_lookup(map, k, sizeof(*(map)->key)))
#define bpf_map_update_elem(map, k, v, flags) \
	((void)(flags), map_add(map, k, sizeof(*(map)->key), v, sizeof(*(map)->value)))

#endif
