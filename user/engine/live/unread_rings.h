/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that ended before their rings could be opened, as they ended too soon or for want of
 * descriptors. Each may have left its file where it is found later; if not, what it did since then
 * is reported as lost.
 */
#ifndef ENGINE_LIVE_UNREAD_RINGS_H
#define ENGINE_LIVE_UNREAD_RINGS_H

#include "base/ptrmap.h"
#include "engine/context.h"
#include "source/ring/ring.h"

struct unread_ring;

struct unread_rings {
	const struct engine *engine;
	struct ring_source *rings;
	struct unread_ring *first, *last;  /* in the order of their ends */
	PTRMAP(struct unread_ring) by_pid; /* the newest of each */
};

/* Both outlive it. */
void unread_rings_init(struct unread_rings *u, const struct engine *e, struct ring_source *rings);
void unread_rings_done(struct unread_rings *u);
/* A process, by its index in the registry, has ended; its ring was left out since since_ns. */
void unread_rings_add(struct unread_rings *u, uint32_t process, uint64_t since_ns);
/* The file that a process with this pid left has been opened. */
void unread_rings_found(struct unread_rings *u, pid_t pid);
/* Nothing else was left by those that have ended. */
void unread_rings_report(struct unread_rings *u);

#endif
