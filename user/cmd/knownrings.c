/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/knownrings.h"

#include <stdlib.h>

const struct known_ring *known_rings_find(const struct known_rings *k, const struct stat *st)
{
	const uint64_t *first = map_get(&k->by_ino, st->st_ino);
	for (unsigned i = first ? (unsigned)*first : 0; i; i = k->rings[i - 1].next)
		if (k->rings[i - 1].dev == st->st_dev)
			return &k->rings[i - 1];
	return NULL;
}

bool known_rings_take(struct known_rings *k, int fd, const struct known_ring *ring)
{
	struct stat st;
	if (fstat(fd, &st) || known_rings_find(k, &st))
		return false;
	if (k->count == k->cap) {
		unsigned cap = k->cap ? 2 * k->cap : 8;
		struct known_ring *rings = realloc(k->rings, cap * sizeof(*rings));
		if (!rings)
			return false;
		k->rings = rings;
		k->cap = cap;
	}
	uint64_t *first = map_put(&k->by_ino, st.st_ino);
	if (!first)
		return false;
	struct known_ring *r = &k->rings[k->count++];
	*r = *ring;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->changed = st.st_ctim;
	r->next = (unsigned)*first;
	*first = k->count;
	return true;
}

void known_rings_undo(struct known_rings *k)
{
	const struct known_ring *last = &k->rings[--k->count];
	uint64_t *first = map_get(&k->by_ino, last->ino);
	if (first && last->next)
		*first = last->next;
	else
		map_delete(&k->by_ino, last->ino);
}

void known_rings_done(struct known_rings *k)
{
	free(k->rings);
	map_done(&k->by_ino);
	*k = (struct known_rings){0};
}
