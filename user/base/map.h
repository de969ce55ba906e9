/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table from u64 to u64 (ptrmap.h: to pointers): open addressing, linear probing, at most
 * half full, deletion by backward shift, without tombstones. Every key is allowed. Pointers to
 * values are valid until the next put or delete. Zeroed memory is an empty map.
 *
 * The order of map_next() depends on a random number of this run (hash.h): no output may follow it.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key, value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t count, cap; /* cap: 0 or a power of two */
};

void map_done(struct map *m);
/* The value of a key; a new one is 0. NULL: no memory. */
uint64_t *map_put(struct map *m, uint64_t key);
bool map_delete(struct map *m, uint64_t key); /* false: the key is not in the map */
/* The next used slot from *at on, which advances behind it; NULL at the end. Start with *at = 0. */
struct map_slot *map_next(const struct map *m, size_t *at);

/* Two rounds: one round turns keys that differ only in their top bits into an arithmetic
 * progression. In 1 of 1,000 runs the secret makes its step short, and all keys would share a few
 * slots. */
static inline size_t map_home(const struct map *m, uint64_t key)
{
	return (size_t)hash_u64(hash_u64(hash_start(), key), 0) & (m->cap - 1);
}

/* The value of a key; NULL if the key is not in the map. */
static inline uint64_t *map_get(const struct map *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	for (size_t i = map_home(m, key);; i = (i + 1) & (m->cap - 1)) {
		struct map_slot *s = &m->slots[i];
		if (!s->used)
			return NULL;
		if (s->key == key)
			return &s->value;
	}
}

#endif
