/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What share of their time the mutators of lanes and processes had, window by window (mmu.h): edges
 * are where a pause of stat begins and ends (pause_clock.h). Of a process the share that is stopped
 * is that of its domains, and threads outside of any, which pause; one counts from its first event
 * in a stretch on, as long as it lives.
 *
 * A stretch of a lane is its time (lane.h) without holes; one of a process ends at the begin of a
 * hole of any of its lanes, and where recording stops. The next one begins behind the hole, with
 * the other lanes as they are. A hole is known when the event of the loss comes: windows that end
 * in it are taken back then (mmu.h). A pause with an unseen begin is in no window: what lies
 * between the hole, or the begin of the recording, and its end is a hole, too.
 */
#ifndef REPORT_STAT_MODEL_MUTATOR_H
#define REPORT_STAT_MODEL_MUTATOR_H

#include "report/stat/model/lane.h"
#include "report/stat/model/mmu.h"

struct stat_lane_mutator {
	struct mmu windows; /* readers use windows.least and mmu_within_ns() */
	uint64_t from_ns;   /* the begin of the stretch */
	uint64_t part_ns;   /* the begin of the pause, or of its present part */
	uint32_t stretch;   /* of the process, in which it counts; 0: in none */
	bool stopped;
	/* Of the list of the process by in_ring; at: NULL: in none. */
	bool in_ring;
	struct stat_lane_mutator *next, **at;
};

struct stat_process_mutator {
	struct mmu windows;
	struct stat_lane_mutator *listed[2]; /* lanes with a stretch, by in_ring */
	/* Of the lists of the room, as of a lane: of processes with listed lanes. */
	struct stat_process_mutator *next[2], **at[2];
	uint64_t from_ns;
	uint32_t stretch; /* counts them, from 1 */
	uint32_t lanes, stopped;
};

/* Zeroed memory: of a model without lanes. */
struct stat_mutator_room {
	struct mmu_room edges;
	struct stat_process_mutator *listed[2];
};

/* An event of the lane has been taken in, at ns: of the thread that held the lane's time before, or
 * of its present one. 0 or -ENOMEM. */
int stat_mutator_follow(struct stat_mutator_room *room, struct stat_lane *l, uint64_t ns);
/* Before it is known to its lane: a hole of one lane. 0 or -ENOMEM. */
int stat_mutator_hole_lane(struct stat_lane *l, uint64_t since_ns, uint64_t ns);
/* A hole of the lanes of a process, or of all, that were in no ring; anywhere: of the others, too.
 * 0 or -ENOMEM. */
int stat_mutator_hole(struct stat_process *p, bool anywhere, uint64_t since_ns, uint64_t ns);
int stat_mutator_hole_all(struct stat_mutator_room *room, bool anywhere, uint64_t since_ns,
			  uint64_t ns);
/* A pause with an unseen begin ends. 0 or -ENOMEM. */
int stat_mutator_forget(struct stat_lane *l, uint64_t ns);
/* Recording of all domains stops. */
void stat_mutator_stop(struct stat_process *p, uint64_t ns);
/* Sets what their windows come to at their end, or at `ns` if they live. */
void stat_mutator_settle_lane(const struct stat_lane *l, uint64_t ns);
void stat_mutator_settle(const struct stat_process *p, uint64_t ns);
/* After these, no more events come: releases all else. */
void stat_mutator_release(struct stat_process *p);
/* Before the process and its lanes are freed. */
void stat_mutator_free(struct stat_process *p);

#endif
