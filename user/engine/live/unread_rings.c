/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/unread_rings.h"

#include <stdlib.h>

#include "base/clock.h"

struct unread_ring {
	uint32_t
		/* its index in the registry, which is referred to; PROCESS_UNKNOWN: found */
		process;
	uint64_t since_ns, until_ns;
	struct unread_ring *next;
	struct unread_ring *older; /* of the same pid */
};

void unread_rings_init(struct unread_rings *u, const struct engine *e, struct ring_source *rings)
{
	*u = (struct unread_rings){.engine = e, .rings = rings};
}

static void clear(struct unread_rings *u)
{
	for (struct unread_ring *ring; (ring = u->first);) {
		u->first = ring->next;
		free(ring);
	}
	u->last = NULL;
	ptrmap_done(&u->by_pid);
}

void unread_rings_done(struct unread_rings *u)
{
	clear(u);
}

static struct processes *registry(const struct unread_rings *u)
{
	return &u->engine->session->processes;
}

void unread_rings_add(struct unread_rings *u, uint32_t process, uint64_t since_ns)
{
	uint32_t pid = processes_pid(registry(u), process);
	struct unread_ring *ring = calloc(1, sizeof(*ring));
	struct unread_ring *older = ptrmap_get(&u->by_pid, pid);
	uint64_t now = now_ns();
	if (!ring || ptrmap_set(&u->by_pid, pid, ring)) {
		free(ring);
		ring_source_missed(u->rings, process, since_ns, now);
		return;
	}
	*ring = (struct unread_ring){process, since_ns, now, NULL, older};
	*(u->last ? &u->last->next : &u->first) = ring;
	u->last = ring;
	processes_ref(registry(u), process);
}

void unread_rings_found(struct unread_rings *u, pid_t pid)
{
	struct unread_ring *ring = ptrmap_remove(&u->by_pid, (uint64_t)pid);
	for (; ring; ring = ring->older) {
		processes_unref(registry(u), ring->process);
		ring->process = PROCESS_UNKNOWN;
	}
}

void unread_rings_report(struct unread_rings *u)
{
	for (const struct unread_ring *ring = u->first; ring; ring = ring->next) {
		if (!ring->process)
			continue;
		ring_source_missed(u->rings, ring->process, ring->since_ns, ring->until_ns);
		messages_at(&u->engine->session->messages, LOG_NORMAL,
			    "process %u ended before its ring could be read",
			    processes_pid(registry(u), ring->process));
		processes_unref(registry(u), ring->process);
	}
	clear(u);
}
