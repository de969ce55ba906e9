/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one stream, sorted by time, of the lanes of many sources. It never waits for a silent lane
 * longer than that lane's horizon tells; an event that nevertheless comes after its time had been
 * passed on is delivered at once, flagged EBT_F_LATE, with its ts moved up to the last one passed
 * on, so the output is sorted whatever the sources do. Events of the same moment are sorted by pid,
 * domain and position, so that the ring's and BPF's record of one event are neighbours.
 */
#ifndef CORE_MERGE_H
#define CORE_MERGE_H

#include "core/source.h"

/* Events of a lane that wait to be merged, at most, and their memory. */
#define MERGE_BATCH	 256
#define MERGE_LANE_BYTES (MERGE_BATCH * sizeof(struct ebt_event))

struct merge;

int merge_new(struct merge **ret);
void merge_free(struct merge *m); /* the sources are the caller's */
/* Adds a source; its lanes are taken in by the next merge_poll(). 0 or -ENOMEM. */
int merge_add(struct merge *m, struct source *s);
/*
 * Polls every source, takes in new lanes, asks again those that had nothing. A source whose poll
 * fails is stopped and not polled any more: what it holds is still read, then its lanes have ended,
 * and the others go on without it. 0 or -ENOMEM.
 */
int merge_poll(struct merge *m);
/* 1: *ret is the next event; 0: every lane has ended; -EAGAIN: nothing may be passed on yet. */
int merge_next(struct merge *m, struct ebt_event *ret);
/* Nothing older than this will be passed on any more. */
uint64_t merge_horizon(const struct merge *m);
/* The first error of a source, 0 if there was none. */
int merge_error(const struct merge *m);

#endif
