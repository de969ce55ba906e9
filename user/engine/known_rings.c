/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/known_rings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

bool ring_id_look(int fd, const char *name, struct ring_id *ret)
{
	struct statx st;
	if (statx(fd, name ? name : "", AT_SYMLINK_NOFOLLOW | (name ? 0 : AT_EMPTY_PATH),
		  STATX_INO | STATX_BTIME | STATX_TYPE | STATX_UID, &st))
		return false;
	*ret = (struct ring_id){.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				.ino = st.stx_ino,
				.owner = st.stx_uid,
				.regular = S_ISREG(st.stx_mode)};
	if (st.stx_mask & STATX_BTIME) {
		ret->born_s = (uint64_t)st.stx_btime.tv_sec;
		ret->born_ns = st.stx_btime.tv_nsec;
	}
	return true;
}

static bool is_same(const struct ring_id *a, const struct ring_id *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->born_s == b->born_s &&
	       a->born_ns == b->born_ns;
}

const struct known_ring *known_rings_find(const struct known_rings *k, const struct ring_id *id)
{
	const uint64_t *first = map_get(&k->by_ino, id->ino);
	for (unsigned i = first ? (unsigned)*first : 0; i; i = k->rings[i - 1].next)
		if (is_same(&k->rings[i - 1].id, id))
			return &k->rings[i - 1];
	return NULL;
}

bool known_rings_has(const struct known_rings *k, int fd)
{
	struct ring_id id;
	return !ring_id_look(fd, NULL, &id) || known_rings_find(k, &id);
}

bool known_rings_take(struct known_rings *k, int fd, const struct known_ring *ring)
{
	struct ring_id id;
	if (!ring_id_look(fd, NULL, &id) || known_rings_find(k, &id))
		return false;
	if (k->count == k->cap) {
		unsigned cap = k->cap ? 2 * k->cap : 8;
		struct known_ring *rings = realloc(k->rings, cap * sizeof(*rings));
		if (!rings)
			return false;
		k->rings = rings;
		k->cap = cap;
	}
	uint64_t *first = map_put(&k->by_ino, id.ino);
	if (!first)
		return false;
	struct known_ring *r = &k->rings[k->count++];
	*r = *ring;
	r->id = id;
	r->next = (unsigned)*first;
	*first = k->count;
	return true;
}

void known_rings_undo(struct known_rings *k)
{
	const struct known_ring *last = &k->rings[--k->count];
	uint64_t *first = map_get(&k->by_ino, last->id.ino);
	if (first && last->next)
		*first = last->next;
	else
		map_delete(&k->by_ino, last->id.ino);
}

void known_rings_disown(struct known_rings *k)
{
	k->rings[k->count - 1].asked = false;
}

void known_rings_done(struct known_rings *k)
{
	free(k->rings);
	map_done(&k->by_ino);
	*k = (struct known_rings){0};
}
