/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time of one domain or thread: when it runs, what of it is pauses, what of it is holes.
 * Private to sink/stat*.c. Moments are those of stat_model.h: none before the begin of the run.
 */
#ifndef SINK_STAT_LANE_H
#define SINK_STAT_LANE_H

#include "sink/stat_model.h"

/* The lane of an event's domain or thread, made if it is new. NULL: no memory. */
struct stat_lane *stat_lane_make(struct stat_process *p, const struct ebt_event *ev);
/* Puts the lanes of a process in order. 0 or -ENOMEM. */
int stat_lanes_sort(struct stat_process *p);
/* Its time begins, at the earliest where it ended last. sure: nothing can be open of which the begin was not seen. */
void stat_lane_open(struct stat_lane *l, uint64_t now_ns, bool sure);
/* Its time ends, with what is open. stopped: with the recording. 0 or -ENOMEM. */
int stat_lane_close(struct stat_model *m, struct stat_lane *l, uint64_t now_ns, bool stopped);
/* A hole has ended. What was open has been cut. 0 or -ENOMEM. */
int stat_lane_hole(struct stat_model *m, struct stat_lane *l, uint64_t since_ns, uint64_t now_ns);
/* Another thread of the domain runs: the one before is inside its pause, but none of its time is. 0
 * or -ENOMEM. */
int stat_lane_thread(struct stat_lane *l, uint32_t tid, uint64_t now_ns);
/* An end came whose begin was not seen. */
void stat_lane_orphan(struct stat_lane *l, uint32_t phase, uint64_t now_ns);
/* For tracks_new(). */
struct tracks_visitor stat_lane_visitor(struct stat_model *m);

#endif
