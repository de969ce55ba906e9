/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of ring files: of running processes, whose rings are emptied at each poll(), and of
 * files at rest. One lane a ring that was ever used, and lane 0 for what was lost because threads
 * found no ring.
 *
 * Taking words out of the rings (fast, must not wait) and decoding them (when somebody reads) are
 * apart: between them each lane has a backlog. All memory of files and lanes comes out of one
 * buffer, so that files which cost their maker nothing cost us little. While no more is to be had a
 * ring is left alone, and what it overwrites, or holds at its end, is told as lost.
 *
 * Time: with a live ring nothing is handed out that is younger than the source's safe time, and the
 * safe time is such that nothing older can still appear: not from a ring whose writer is inside an
 * event, and not from a process or a ring that is found RING_SLACK_NS after it began.
 */
#ifndef SOURCE_RING_H
#define SOURCE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/session.h"
#include "core/source.h"
#include "source/cursor.h"
#include "source/ring_damages.h"

#define RING_SLACK_NS 50000000ull

struct ring_source;

/*
 * buffer_bytes: of all files and lanes together; 1 MiB at least. The session is kept, not owned. 0
 * or -errno.
 */
int ring_source_new(struct session *session, size_t buffer_bytes, struct ring_source **ret);
struct source *ring_source_base(struct ring_source *s); /* freed by source_free() */
/* The inverse. */
struct ring_source *ring_source_of(struct source *base);

/*
 * Adds a file, called `name` in messages, of a process of the session's registry, which is announced;
 * `c` is owned from here on, also on failure. live: a
 * process may still write to it, until ring_source_finish(). 0; -ENOSPC: the buffer is used up, or
 * the process has too many files: it is not read, which has been said and is told as a loss; or
 * -ENOMEM.
 */
int ring_source_add(struct ring_source *s, struct ebt_cursor *c, const char *name, uint32_t process,
		    bool live);
/* A ring that a process wrote between the two times cannot be read at all. */
void ring_source_missed(struct ring_source *s, uint32_t process, uint64_t since_ns, uint64_t ts);
/*
 * Somebody else sees the events of threads that have no ring (BPF at the markers): they are not to
 * be told as lost. Before the first poll.
 */
void ring_source_ringless_seen(struct ring_source *s);
/*
 * All ring files that there were at this time (CLOCK_MONOTONIC, ns) have been added, but for those
 * that cannot be read. From the first call on nothing younger than that is handed out, and the
 * horizon is no later: however late a file is found, its events are not.
 */
void ring_source_scanned(struct ring_source *s, uint64_t scanned_ns);
/* Nobody writes to this process's rings any more: what they hold is taken once more, then they end. */
void ring_source_finish(struct ring_source *s, uint32_t process);
/* What the looks since the last call found of the ring that fills fastest. */
struct ring_pace {
	uint64_t lap_ns; /* in how long all of it is overwritten; UINT64_MAX: nothing was written */
	double fill;	 /* the share of it that was written from one look to the next; 1: a loss */
};
void ring_source_pace(struct ring_source *s, struct ring_pace *ret);

/* The damage of the next file that has any, from *at (first 0) on; false: no more. */
bool ring_source_damage(const struct ring_source *s, uint32_t *at, struct ring_damage *ret);

#endif
