/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/unread_rings.h"

#include <stdlib.h>

#include "base/clock.h"

struct unread_ring {
	uint32_t process; /* its index in the registry, which is referred to */
	uint64_t since_ns, until_ns;
};

void unread_rings_init(struct unread_rings *u, const struct engine *e, struct ring_source *rings)
{
	*u = (struct unread_rings){.engine = e, .rings = rings};
}

void unread_rings_done(struct unread_rings *u)
{
	free(u->ring);
}

static struct processes *registry(const struct unread_rings *u)
{
	return &u->engine->session->processes;
}

void unread_rings_add(struct unread_rings *u, uint32_t process, uint64_t since_ns)
{
	struct unread_ring ring = {process, since_ns, now_ns()};
	struct unread_ring *more = realloc(u->ring, (u->count + 1) * sizeof(*more));
	if (!more) {
		ring_source_missed(u->rings, process, ring.since_ns, ring.until_ns);
		return;
	}
	u->ring = more;
	more[u->count++] = ring;
	processes_ref(registry(u), process);
}

void unread_rings_found(struct unread_rings *u, pid_t pid)
{
	for (unsigned i = u->count; i-- > 0;)
		if (processes_pid(registry(u), u->ring[i].process) == (uint32_t)pid) {
			processes_unref(registry(u), u->ring[i].process);
			u->ring[i] = u->ring[--u->count];
		}
}

void unread_rings_report(struct unread_rings *u)
{
	for (unsigned i = 0; i < u->count; i++) {
		const struct unread_ring *ring = &u->ring[i];
		ring_source_missed(u->rings, ring->process, ring->since_ns, ring->until_ns);
		report_at(&u->engine->report, LOG_NORMAL,
			  "process %u ended before its ring could be read",
			  processes_pid(registry(u), ring->process));
		processes_unref(registry(u), ring->process);
	}
	u->count = 0;
}
