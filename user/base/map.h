/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table from u64 to u64 (ptrmap.h: to pointers): open addressing, linear probing, at most half full,
 * deletion by moving back, so there are no tombstones. Every key is allowed. Pointers to values are
 * valid until the next put or delete. Zeroed memory is an empty map.
 *
 * Where a key falls depends on a random number of this run (hash.h), and so does the order of
 * map_next(): what is put out must not follow it.
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
/* The value of a key, made 0 if it is new. NULL: no memory. */
uint64_t *map_put(struct map *m, uint64_t key);
bool map_delete(struct map *m, uint64_t key); /* false: it was not there */
/* The next used slot from *at on, which moves behind it; NULL at the end. Start with *at = 0. */
struct map_slot *map_next(const struct map *m, size_t *at);

static inline size_t map_home(const struct map *m, uint64_t key)
{
	return (size_t)hash_u64(hash_start(), key) & (m->cap - 1);
}

/* The value of a key; NULL if it is not there. */
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
