/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of ring files, live (of running processes) and at rest. poll() empties live rings, and
 * those that do not fill only at every few calls. One lane for each ring that was ever used, and
 * lane 0 for the losses of threads that found no ring.
 *
 * poll() copies words out of the rings, fast and without waiting; read() decodes them. Between the
 * two each lane has a backlog. The memory of files and lanes is counted in one budget, so a file
 * that cost its writer nothing costs us little. When the budget is used up, words stay in the ring;
 * words that are then overwritten, or left at the end, are reported as lost.
 *
 * Time: with a live ring no event is returned that is younger than the source's safe time. No event
 * older than the safe time can still appear: neither from a ring with its writer inside an event,
 * nor from a process or a ring that is found RING_SLACK_NS after it began.
 */
#ifndef SOURCE_RING_RING_H
#define SOURCE_RING_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "session/session.h"
#include "source/ring/cursor.h"
#include "source/ring/damages.h"
#include "stream/source.h"

#define RING_SLACK_NS 50000000ull

/* The use that is made of a file. */
enum ring_use {
	RING_AT_REST = 0,
	RING_LIVE = 1 << 0, /* the process may write to it until ring_source_finish() */
	RING_IN_RUN =
		1 << 1, /* it was made while the run watched: words that are overwritten before
				 the first look are lost, and not of the time before the trace */
};

struct ring_source;

/*
 * buffer_bytes: the budget of all files and lanes together, 1 MiB at least. Keeps the pointer to
 * the session. 0 or -errno.
 */
int ring_source_new(struct session *session, size_t buffer_bytes, struct ring_source **ret);
struct source *ring_source_base(struct ring_source *s); /* freed by source_free() */
/* The inverse. */
struct ring_source *ring_source_of(struct source *base);

/*
 * Adds a file, called `name` in messages, of a process of the session's registry, and announces the
 * process. Takes ownership of `c`, also on failure. 0; -ENOSPC: the budget is used up: the file is
 * not read, which has been logged and is reported as a loss; or -ENOMEM. Its times are converted by
 * clock_ahead_ns of the process, which is to be set before.
 */
int ring_source_add(struct ring_source *s, struct ebt_cursor *c, const char *name, uint32_t process,
		    enum ring_use use);
/* A ring that a process wrote between the two times cannot be read at all. */
void ring_source_missed(struct ring_source *s, uint32_t process, uint64_t since_ns, uint64_t ts);
/*
 * Another source sees the events of threads that have no ring (BPF at the markers): they are not
 * reported as lost. Before the first poll.
 */
void ring_source_ringless_seen(struct ring_source *s);
/* Events of live rings have the thread that wrote them, where the ring records its owner. Before
 * the first file. */
void ring_source_know_threads(struct ring_source *s);
/*
 * All ring files that there were at this time (CLOCK_MONOTONIC, ns) have been added, but for those
 * that cannot be read. From the first call on nothing younger than that is handed out, and the
 * horizon is no later: however late a file is found, its events are not.
 */
void ring_source_scanned(struct ring_source *s, uint64_t scanned_ns);
/* Enters into the process how much memory its rings take. */
void ring_source_measure(struct ring_source *s, uint32_t process);
/* The process no longer writes to its rings: their words are fetched once more, then they end. */
void ring_source_finish(struct ring_source *s, uint32_t process);
/* Files with an open descriptor: live ones, and others until they are read to their end. */
uint32_t ring_source_open_files(const struct ring_source *s);
/* The ring that filled fastest, by the looks since the last call. */
struct ring_pace {
	/* Time in which all of it is overwritten; UINT64_MAX: no word was written. */
	uint64_t lap_ns;
	double fill; /* the share of it that was written from one look to the next; 1: a loss */
	uint64_t
		rest_ns; /* ring_source_be_frugal(): no ring that fills slowly is due for so long */
};
/* Rings that do not fill are looked at less often, where there are many: at one in
 * RING_FRUGAL_SHARE of our time, and after RING_FRUGAL_NS at the latest. What a ring that begins to
 * fill fast cannot hold until then is lost. */
#define RING_FRUGAL_SHARE   512
#define RING_FRUGAL_NS	    1000000000ull
#define RING_FRUGAL_REST_NS 20000000ull /* where there is no file */
void ring_source_be_frugal(struct ring_source *s);
/*
 * Words that are written from now on are left in the rings, and counted as lost, once a second and
 * where a ring ends; false: they are read again.
 */
void ring_source_leave(struct ring_source *s, bool leave);
/* Words that were written to the rings since their first look, read or not. */
uint64_t ring_source_written(const struct ring_source *s);
void ring_source_pace(struct ring_source *s, struct ring_pace *ret);

/* The damage of the next file that has any, from *at (first 0) on; false: no more. */
bool ring_source_damage(const struct ring_source *s, uint32_t *at, struct ring_damage *ret);

#endif
