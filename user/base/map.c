/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/map.h"

#include <stdlib.h>

void map_done(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

static struct map_slot *find_free(const struct map *m, uint64_t key)
{
	size_t i = map_home(m, key);
	while (m->slots[i].used)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static bool grow(struct map *m)
{
	struct map next = {.cap = m->cap ? m->cap * 2 : 16, .count = m->count};
	next.slots = calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*find_free(&next, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = next;
	return true;
}

uint64_t *map_put(struct map *m, uint64_t key)
{
	uint64_t *value = map_get(m, key);
	if (value)
		return value;
	if (m->count >= m->cap / 2 && !grow(m))
		return NULL;
	struct map_slot *s = find_free(m, key);
	*s = (struct map_slot){.key = key, .used = true};
	m->count++;
	return &s->value;
}

bool map_delete(struct map *m, uint64_t key)
{
	uint64_t *value = map_get(m, key);
	if (!value)
		return false;
	size_t mask = m->cap - 1;
	size_t hole =
		(size_t)((struct map_slot *)((char *)value - offsetof(struct map_slot, value)) -
			 m->slots);
	/* Each following slot up to a gap moves into the hole unless its home is behind the
	 * hole. */
	for (size_t i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		size_t home = map_home(m, m->slots[i].key);
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].used = false;
	m->count--;
	return true;
}

struct map_slot *map_next(const struct map *m, size_t *at)
{
	while (*at < m->cap) {
		struct map_slot *s = &m->slots[(*at)++];
		if (s->used)
			return s;
	}
	return NULL;
}
