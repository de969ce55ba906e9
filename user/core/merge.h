/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one stream, sorted by time, of the lanes of many sources. It never waits for a silent lane
 * longer than that lane's horizon tells; an event that nevertheless comes after its time had been
 * passed on is delivered at once, flagged EBT_F_LATE, with its ts moved up to the last one passed
 * on, so the output is sorted whatever the sources do. Events of the same moment are sorted by pid,
 * domain and position, so that the ring's and BPF's record of one event are neighbours; within a
 * lane events keep their order.
 *
 * It reads a buffer of events of each lane, sorts those of all lanes up to the moment of which one
 * lane may still bring more, and hands them out in batches. An event so costs the same whatever the
 * number of lanes and the order in which they speak. The buffers are the smaller, the more lanes
 * there are: all of them together fit into a second-level cache.
 */
#ifndef CORE_MERGE_H
#define CORE_MERGE_H

#include "core/lanes.h"
#include "core/outlet.h"
#include "core/processes.h"
#include "core/source.h"

/* Memory of the events of a lane that wait to be merged, at most. */
#define MERGE_LANE_BYTES (LANE_EVENTS_MAX * sizeof(struct ebt_event))

struct merge;

/* The registry of the events' processes is kept. 0 or -ENOMEM. */
int merge_new(const struct processes *ps, struct merge **ret);
void merge_free(struct merge *m); /* the sources are the caller's */
/* Adds a source; its lanes are taken in by the next merge_poll(). 0 or -ENOMEM. */
int merge_add(struct merge *m, struct source *s);
/*
 * Polls every source, takes in new lanes; those that had nothing are asked again. A source whose
 * poll fails is stopped and not polled any more: what it holds is still read, then its lanes have
 * ended, and the others go on without it. 0 or -ENOMEM.
 */
int merge_poll(struct merge *m);
/*
 * > 0: so many events, BATCH_EVENTS at most, are at *ret, in memory of merge that the caller may
 * change; valid until the next call. 0: every lane has ended; -EAGAIN: nothing may be passed on
 * yet; -ENOMEM.
 */
int merge_batch(struct merge *m, struct ebt_event **ret);
/* Nothing older than this will be passed on any more. After merge_batch() has returned 0 or less. */
uint64_t merge_horizon(const struct merge *m);
/* The first error of a source, 0 if there was none. */
int merge_error(const struct merge *m);

#endif
