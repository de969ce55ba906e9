/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one stream, sorted by time, of the lanes of many sources. It never waits for a silent lane
 * beyond that lane's horizon. An event older than the last one emitted is emitted at once, flagged
 * EBT_F_LATE, with its ts raised to that of the last one, so the output is sorted whatever the
 * sources do. Events of the same moment are sorted by pid, domain and position, so the ring's and
 * BPF's record of one event are adjacent; within a lane events keep their order.
 *
 * It reads a buffer of events of each lane, and emits in batches all events up to the first moment
 * at which a lane may still have more. Events of one lane are emitted from its buffer. Those of
 * several are sorted as 8-byte keys (time, lane, index) and copied once, without a branch that
 * depends on the events: a tree of lanes has one at each of its levels. The keys of two lanes are
 * merged, in 15 instructions an event; those of more are sorted by radix, in 32 to 34 with 8 and
 * with 128 lanes. With four runs and more the radix sort is no slower than merging them in pairs.
 */
#ifndef STREAM_MERGE_H
#define STREAM_MERGE_H

#include "session/processes.h"
#include "stream/event_handler.h"
#include "stream/lanes.h"
#include "stream/source.h"

/* Memory of the events of one lane that wait to be merged, at most. */
#define MERGE_LANE_BYTES (LANE_EVENTS_MAX * sizeof(struct ebt_event))

struct merge;

/* Keeps the pointer to the registry of the events' processes. 0 or -ENOMEM. */
int merge_new(const struct processes *ps, struct merge **ret);
void merge_free(struct merge *m); /* the sources are the caller's */
/* Adds a source; the next merge_poll() adds its lanes. 0 or -ENOMEM. */
int merge_add(struct merge *m, struct source *s);
/*
 * Polls every source and adds new lanes; lanes that had no event are read again. If the poll of a
 * source fails, the source is stopped and not polled any more: the events that it holds are still
 * read, then its lanes have ended; the other sources are not affected. 0 or -ENOMEM.
 */
int merge_poll(struct merge *m);
/*
 * > 0: that many events, BATCH_EVENTS at most, are at *ret, in memory of merge that the caller may
 * change; valid until the next call. 0: every lane has ended; -EAGAIN: no event may be emitted yet;
 * -ENOMEM.
 */
int merge_batch(struct merge *m, struct ebt_event **ret);
/* Sets the most events of a batch from now on; at least 1. */
void merge_limit_batch(struct merge *m, uint32_t events);
/* No event older than this will be emitted. Valid after merge_batch() has returned 0 or less. */
uint64_t merge_horizon(const struct merge *m);
/* No event that was read so far is younger, emitted or not. */
uint64_t merge_newest(const struct merge *m);
/* The first error of a source, 0 if there was none. */
int merge_error(const struct merge *m);

#endif
