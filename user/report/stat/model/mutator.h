/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What share of their time the mutators of lanes and processes had, window by window (mmu.h): edges
 * are where a pause of stat begins and ends (pause_clock.h). Of a process the share that is stopped
 * is that of its domains, and threads outside of any, which pause; one counts from its first event
 * in a stretch on, as long as it lives.
 *
 * A stretch of a lane is its time (lane.h) without holes; one of a process ends at a hole of any of
 * its lanes, when the first event behind it comes, and where recording stops. A pause with an
 * unseen begin is in no window: what lies before its end is not known. In a process, a domain with
 * lost events counts as it was until the loss is known.
 */
#ifndef REPORT_STAT_MODEL_MUTATOR_H
#define REPORT_STAT_MODEL_MUTATOR_H

#include "report/stat/model/lane.h"
#include "report/stat/model/mmu.h"

struct stat_lane_mutator {
	struct mmu windows; /* readers use windows.least */
	uint64_t from_ns;   /* the begin of the stretch */
	uint64_t part_ns;   /* the begin of the pause, or of its present part */
	uint32_t stretch;   /* of the process, in which it counts; 0: in none */
	bool stopped;
};

struct stat_process_mutator {
	struct mmu windows;
	uint64_t from_ns;
	uint32_t stretch; /* counts them, from 1 */
	uint32_t lanes, stopped;
};

/* An event of the lane has been taken in, at ns: of the thread that held the lane's time before, or
 * of its present one. 0 or -ENOMEM. */
int stat_mutator_follow(struct mmu_room *room, struct stat_lane *l, uint64_t ns);
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
