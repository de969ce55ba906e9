/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One domain's ring, or one thread without a ring: when its time runs, and what of it are holes. It
 * holds the lane's pauses (pauses.h) and opens and cuts with its time; it knows no other lane.
 *
 * The time of a domain, by its events (stat_lane_step). Recording: of the process; while it is off,
 * an event of column 1 or 2 changes nothing.
 *
 *            1 phase begins  2 other event   terminate     spawn            ring start,  loss
 *                                                                           resume
 *   STOPPED  LIVE, since recording began     ENDED, after  LIVE, from here  LIVE, from   LIVE, from
 *                                            such a time                    here         its begin;
 *                                                                                        a hole
 *   LIVE     -               -               ENDED, here   ended at its last event;      a hole
 *                                                          LIVE, from here  -
 *   ENDED    LIVE, from here -               -             LIVE, from here  LIVE, from   LIVE, from
 *                                                                           here         its begin;
 *                                                                                        a hole
 *
 * STOPPED: recording has stopped, or no event of it has come. ENDED: domain_terminate. An end alone
 * does not make it LIVE: it may be the last event of a domain that has ended. ring_stop and
 * ring_pause are column 2, then STOPPED; so is every LIVE lane when its process ends or executes
 * another program (sets.h). A thread is the same, but any event of columns 1 to 3 makes it
 * LIVE from here: the first thread of a process that was seen to begin, from there.
 */
#ifndef REPORT_STAT_MODEL_LANE_H
#define REPORT_STAT_MODEL_LANE_H

#include "report/parts/pauses.h"
#include "report/stat/model/process.h"

enum stat_lane_state { STAT_LANE_STOPPED, STAT_LANE_LIVE, STAT_LANE_ENDED };

enum stat_lane_event {
	STAT_LANE_BEGINS,
	STAT_LANE_OTHER,
	STAT_LANE_TERMINATES,
	STAT_LANE_SPAWNS,
	STAT_LANE_STARTS,
	STAT_LANE_LOSES,
	STAT_LANE_EVENTS
};

struct stat_lane_mutator;
struct stat_list;
struct stat_set;

struct stat_lane {
	struct stat_process *process;
	enum stat_lane_state state;
	bool is_thread;
	bool in_ring; /* its last event was in a ring */
	/* Of sets.c. While it is in a set, its time below is not up to date. */
	struct stat_list *list; /* NULL: events that concern many do not concern it */
	struct stat_set *set;
	struct track *track;	    /* of its phases in a ring; NULL: not known */
	uint64_t since_ns, last_ns; /* while LIVE */
	uint32_t open_spans;
	uint32_t number; /* of the domain; else the tid */
	struct pauses pauses;
	uint16_t open[PHASE_ROWS]; /* of the spans, by phases_row() */

	uint32_t lane;		/* of the registry */
	struct stat_lane *next; /* of its process */
	uint64_t until_ns;	/* end of the last use that is over */
	uint64_t elapsed_ns;	/* of uses that are over */
	uint64_t uncovered_ns, lost_until_ns;
	struct stat_loss lost;
	uint64_t unseen_inner_ns; /* in spans that have ended since pauses.unsure_ns */
	uint64_t unsure_first_ns; /* pauses.unsure_ns of its first use */
	uint64_t minors;	  /* begins of `minor` */
	uint64_t heap_words, pool_words, large_words; /* last values */
	uint64_t heap_counted;			      /* its part of the process's heap_sum */
	/* Pauses that are held (tallies.h), in place of pauses.held; NULL: none, in most lanes. */
	struct histogram *tallied;
	struct stat_lane_mutator *mutator; /* NULL: not asked for, or no event yet */

	/* Of sets.c. */
	struct stat_class *class;
	struct stat_lane *list_prev, *list_next;
	uint64_t turns, set_elapsed_ns, set_uncovered_ns; /* of the set when it joined */

	bool kept, is_changed; /* of progress.c */
	struct stat_lane *next_changed;
};

/* The lane of an event's domain or thread, made at its first event. NULL: no memory. */
struct stat_lane *stat_lane_make(struct stat_stream *s, struct stat_process *p,
				 const struct ebt_event *ev);
/* The registry is about to release the lanes of a process: their numbers will be others'. They are
 * in no set (sets.h). */
void stat_lanes_release(struct stat_stream *s, const struct stat_process *p);
/* Frees all lanes of a process that were released, or if the stream ends. */
void stat_lanes_free(struct stat_process *p);
/* Sets what is held of a lane by tallies, and takes the histogram. 0 or -ENOMEM. */
int stat_lane_hold_tallied(struct stat_lane *l, struct histogram *held);
/* Adds what is held of a lane by tallies, and its number to the lane. 0 or -ENOMEM. */
int stat_lane_add_tallied(struct stat_lane *l, struct histogram *sum);
/* Sorts the lanes of a process: domains by number, then threads by tid. 0 or -ENOMEM. */
int stat_lanes_sort(struct stat_process *p);
/*
 * Takes the transition of the table above, of an event at `ns`; of a loss, from since_ns to `ns`.
 * 0 or -ENOMEM.
 */
int stat_lane_step(struct stat_stream *s, struct stat_lane *l, enum stat_lane_event event,
		   uint64_t since_ns, uint64_t ns);
/* LIVE from now_ns, at the earliest from where it ended last. sure: every open phase's begin was
 * seen. */
void stat_lane_open(struct stat_lane *l, uint64_t now_ns, bool sure);
/* LIVE → state; cuts what is open. Else nothing. 0 or -ENOMEM. */
int stat_lane_close(struct stat_stream *s, struct stat_lane *l, uint64_t now_ns,
		    enum stat_lane_state state);
/* LIVE → state, at end_ns, which is not before since_ns; no span is open. 0 or -ENOMEM. */
int stat_lane_leave(struct stat_lane *l, uint64_t end_ns, enum stat_lane_state state);
/* A hole has ended that cut what was open. 0 or -ENOMEM. */
int stat_lane_hole(const struct stat_stream *s, struct stat_lane *l, uint64_t since_ns,
		   uint64_t now_ns);

#endif
