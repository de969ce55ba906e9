/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that concern many lanes at once: losses without a domain, recording that pauses and
 * resumes, programs that end. There may be any number of lanes and any number of these events, so
 * no lane is visited twice for the same use. Lanes that were used since the last such event are
 * BUSY: it visits them one by one. They then sleep in a set, and one lane that represents the set
 * receives the events that follow. A lane is woken, which brings it up to date, before it is used
 * again.
 *
 *                         hole           recording stops   recording resumes
 *   BUSY                  one by one     one by one        opened with the STOPPED ones, if STOPPED
 *   set LIVE              all at once    all at once       woken: recording had not stopped for it
 *   set LIVE, open spans  all at once    one by one        woken
 *   set STOPPED           -              -                 all at once
 *   ENDED (no set)        -              -                 -
 *
 * Lanes of a process are alike by their class: domains or threads, in a ring or not. In the same
 * way classes of processes sleep through losses without a process.
 */
#ifndef REPORT_STAT_MODEL_SETS_H
#define REPORT_STAT_MODEL_SETS_H

#include "report/stat/model/progress.h"

struct stat_everyone;

/* All fields but `everyone` are the owner's. */
struct stat_sets {
	struct stat_stream *stream;
	struct stat_progress *progress;
	struct stat_everyone *everyone; /* 2, by in_ring */
};

/* Both pointers are kept. 0 or -ENOMEM; done() works after either. */
int stat_sets_init(struct stat_sets *sets, struct stat_stream *s, struct stat_progress *g);
void stat_sets_done(struct stat_sets *sets);
/* Frees what is kept of a process. Its lanes, up to date, are in no set then. */
void stat_sets_forget(struct stat_process *p);

/* The slow part of stat_sets_use(). */
int stat_sets_enter(struct stat_sets *sets, struct stat_lane *l, bool in_ring);
/* Whether the lane is BUSY in this class. */
static inline bool stat_sets_is_busy(const struct stat_lane *l, bool in_ring)
{
	return l->list && !l->set && l->in_ring == in_ring;
}
/* Before each use of a lane: it is up to date and BUSY in the class that it is of now. 0 or
 * -ENOMEM. */
static inline int stat_sets_use(struct stat_sets *sets, struct stat_lane *l, bool in_ring)
{
	if (stat_sets_is_busy(l, in_ring)) {
		stat_progress_change(sets->progress, l);
		return 0;
	}
	return stat_sets_enter(sets, l, in_ring);
}
/* Brings a lane that has been used before up to date; it is going to be used. */
void stat_sets_wake(struct stat_lane *l);
/* Copies a lane as it is when it is up to date; the lane itself sleeps on. The copy is in no
 * set. */
void stat_sets_view(struct stat_lane *l, struct stat_lane *ret);
/* A hole of all LIVE lanes of a process that no ring holds; anywhere: of all LIVE ones. 0 or
 * -ENOMEM. */
int stat_sets_hole(struct stat_sets *sets, struct stat_process *p, bool anywhere, uint64_t since_ns,
		   uint64_t now_ns);
/* stat_sets_hole() of all processes. */
int stat_sets_hole_all(struct stat_sets *sets, bool anywhere, uint64_t since_ns, uint64_t now_ns);
/* All LIVE domains become STOPPED, each at its last moment if now_ns is 0; threads: threads as
 * well. 0 or -ENOMEM. */
int stat_sets_stop(struct stat_sets *sets, struct stat_process *p, uint64_t now_ns, bool threads);
/* All STOPPED lanes become LIVE. */
void stat_sets_resume(struct stat_process *p, uint64_t now_ns);

#endif
