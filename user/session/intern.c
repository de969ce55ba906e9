/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ENTRIES 16
/* Ids fit 31 bits, so that no number of slots overflows 32. */
#define MOST_ENTRIES (1u << 30)

static void *entry_at(const struct intern *t, uint32_t id)
{
	return (char *)t->entries + id * t->entry_bytes;
}

int intern_init(struct intern *t, size_t entry_bytes)
{
	*t = (struct intern){.entry_bytes = entry_bytes, .used = 1, .cap = FIRST_ENTRIES};
	t->mask = 2 * FIRST_ENTRIES - 1;
	t->entries = calloc(t->cap, entry_bytes);
	t->slots = calloc(t->mask + 1, sizeof(*t->slots));
	if (t->entries && t->slots)
		return 0;
	intern_done(t);
	return -ENOMEM;
}

void intern_done(struct intern *t)
{
	free(t->entries);
	free(t->slots);
	*t = (struct intern){0};
}

static void put_slot(struct intern *t, struct intern_slot slot)
{
	uint32_t i = slot.hash & t->mask;
	while (t->slots[i].id)
		i = (i + 1) & t->mask;
	t->slots[i] = slot;
}

/* Doubles the entries and, with them, the slots, which are so at most half full. */
static int grow(struct intern *t)
{
	if (t->cap == MOST_ENTRIES)
		return -ENOMEM;
	uint32_t cap = 2 * t->cap, old_mask = t->mask;
	struct intern_slot *slots = calloc(2 * (size_t)cap, sizeof(*slots)), *old = t->slots;
	void *entries = slots ? realloc(t->entries, cap * t->entry_bytes) : NULL;
	if (!entries) {
		free(slots);
		return -ENOMEM;
	}
	t->entries = entries;
	t->cap = cap;
	t->slots = slots;
	t->mask = 2 * cap - 1;
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].id)
			put_slot(t, old[i]);
	free(old);
	return 0;
}

uint32_t intern_add(struct intern *t, uint32_t hash, const void *entry)
{
	uint32_t id = t->first_free;
	if (!id && t->used == t->cap && grow(t))
		return 0;
	if (id)
		memcpy(&t->first_free, entry_at(t, id), sizeof(t->first_free));
	else
		id = t->used++;
	memcpy(entry_at(t, id), entry, t->entry_bytes);
	put_slot(t, (struct intern_slot){.hash = hash, .id = id});
	t->live++;
	return id;
}

void intern_remove(struct intern *t, uint32_t hash, uint32_t id)
{
	uint32_t hole = hash & t->mask;
	while (t->slots[hole].id != id)
		hole = (hole + 1) & t->mask;
	/* Whatever follows without a gap moves into the hole unless its home lies behind it. */
	for (uint32_t i = (hole + 1) & t->mask; t->slots[i].id; i = (i + 1) & t->mask) {
		uint32_t home = t->slots[i].hash & t->mask;
		if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	}
	t->slots[hole].id = 0;
	memset(entry_at(t, id), 0, t->entry_bytes);
	memcpy(entry_at(t, id), &t->first_free, sizeof(t->first_free));
	t->first_free = id;
	t->live--;
}
