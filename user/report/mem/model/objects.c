/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/objects.h"

#include <stdlib.h>

#include "base/hash.h"

void mem_objects_done(struct mem_objects *t)
{
	free(t->slot);
	*t = (struct mem_objects){0};
}

static size_t home(const struct mem_objects *t, uint64_t id)
{
	return (size_t)hash_u64(hash_u64(hash_start(), id), 0) & (t->cap - 1);
}

/* The slot of an id, or the free one in which it would be. */
static struct mem_object *find(const struct mem_objects *t, uint64_t id)
{
	size_t i = home(t, id);
	while (t->slot[i].row && t->slot[i].id != id)
		i = (i + 1) & (t->cap - 1);
	return &t->slot[i];
}

static bool grow(struct mem_objects *t)
{
	struct mem_objects grown = {.count = t->count, .cap = t->cap ? 2 * t->cap : 64};
	grown.slot = calloc(grown.cap, sizeof(*grown.slot));
	if (!grown.slot)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->slot[i].row)
			*find(&grown, t->slot[i].id) = t->slot[i];
	free(t->slot);
	*t = grown;
	return true;
}

struct mem_object *mem_objects_put(struct mem_objects *t, uint64_t id)
{
	if (t->count >= t->cap / 4 * 3 && !grow(t))
		return NULL;
	struct mem_object *o = find(t, id);
	if (!o->row) {
		*o = (struct mem_object){.id = id};
		t->count++;
	}
	return o;
}

struct mem_object *mem_objects_get(const struct mem_objects *t, uint64_t id)
{
	struct mem_object *o = t->cap ? find(t, id) : NULL;
	return o && o->row ? o : NULL;
}

void mem_objects_delete(struct mem_objects *t, struct mem_object *o)
{
	size_t mask = t->cap - 1, hole = (size_t)(o - t->slot);
	for (size_t i = (hole + 1) & mask; t->slot[i].row; i = (i + 1) & mask) {
		/* An entry may fill the hole unless its home is behind it. */
		size_t from_home = (i - home(t, t->slot[i].id)) & mask;
		if (from_home < ((i - hole) & mask))
			continue;
		t->slot[hole] = t->slot[i];
		hole = i;
	}
	t->slot[hole].row = 0;
	t->count--;
}

struct mem_object *mem_objects_next(const struct mem_objects *t, size_t *at)
{
	while (*at < t->cap) {
		struct mem_object *o = &t->slot[(*at)++];
		if (o->row)
			return o;
	}
	return NULL;
}
