/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/known_rings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "session/processes.h"

bool ring_id_read(int fd, const char *name, struct ring_id *ret)
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

bool ring_id_is(const struct ring_id *a, const struct ring_id *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->born_s == b->born_s &&
	       a->born_ns == b->born_ns;
}

uint64_t known_ring_lived_ns(const struct known_ring *ring)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME), wall = clock_ns(CLOCK_REALTIME);
	uint64_t born = ring->id.born_s * 1000000000u + ring->id.born_ns + PROCESS_TICK_NS;
	uint64_t ago = born && born < wall ? wall - born : 0;
	return ago < now ? now - ago : now;
}

struct known_ring *known_rings_find(const struct known_rings *k, const struct ring_id *id)
{
	struct known_ring *ring = ptrmap_get(&k->by_ino, id->ino);
	while (ring && !ring_id_is(&ring->id, id))
		ring = ring->next_file;
	return ring;
}

bool known_rings_has(const struct known_rings *k, int fd)
{
	struct ring_id id;
	return !ring_id_read(fd, NULL, &id) || known_rings_find(k, &id);
}

struct known_ring *known_rings_add(struct known_rings *k, int fd)
{
	struct ring_id id;
	if (!ring_id_read(fd, NULL, &id) || known_rings_find(k, &id))
		return NULL;
	struct known_ring *ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->id = id;
	ring->next_file = ptrmap_get(&k->by_ino, id.ino);
	if (ptrmap_set(&k->by_ino, id.ino, ring)) {
		free(ring);
		return NULL;
	}
	return ring;
}

static void free_ring(struct known_ring *ring)
{
	free(ring->name);
	free(ring);
}

void known_rings_forget(struct known_rings *k, struct known_ring *ring)
{
	struct known_ring *first = ptrmap_get(&k->by_ino, ring->id.ino);
	if (first == ring && !ring->next_file)
		ptrmap_remove(&k->by_ino, ring->id.ino);
	else if (first == ring)
		ptrmap_set(&k->by_ino, ring->id.ino, ring->next_file); /* has its key */
	while (first != ring && first->next_file != ring)
		first = first->next_file;
	if (first != ring)
		first->next_file = ring->next_file;
	free_ring(ring);
}

void known_rings_done(struct known_rings *k)
{
	size_t at = 0;
	for (struct known_ring *ring; (ring = ptrmap_next(&k->by_ino, &at));)
		for (struct known_ring *next; ring; ring = next) {
			next = ring->next_file;
			free_ring(ring);
		}
	ptrmap_done(&k->by_ino);
}
