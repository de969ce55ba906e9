/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What concerns many lanes at once: losses without a domain, recording that pauses and resumes,
 * programs that end. There may be any number of lanes and any number of these, so no lane is looked
 * at twice for the same use. Lanes that were used since the last time are brought through it one by
 * one; then they sleep, and one lane that stands for all of them goes through what comes next. A
 * lane is woken, which brings it up to date, before it is used again. Private to sink/stat*.c.
 *
 *             hole           recording ends   resumes
 *   busy      one by one     one by one       opened with the stopped ones, if it has stopped
 *   live      all at once    all at once      woken: it has run on while recording had not
 *   with open spans
 *             all at once    one by one       woken
 *   stopped   -              -                all at once
 *
 * Lanes of a process are alike by their class: domains or threads, in a ring or not. In the same
 * way classes of processes sleep through losses without a pid.
 */
#ifndef SINK_STAT_SLEEP_H
#define SINK_STAT_SLEEP_H

#include "sink/stat_model.h"

/* The lane is going to be used, in the class that it is of now. 0 or -ENOMEM. */
int stat_sleep_use(struct stat_model *m, struct stat_lane *l, bool in_ring);
/* Brings a lane up to date that has been used before; it is going to be used. */
void stat_sleep_wake(struct stat_lane *l);
/* A hole of all live lanes of a process that no ring holds; anywhere: of all that live. 0 or
 * -ENOMEM. */
int stat_sleep_hole(struct stat_model *m, struct stat_process *p, bool anywhere, uint64_t since_ns,
		    uint64_t now_ns);
/* The same of all processes. */
int stat_sleep_hole_all(struct stat_model *m, bool anywhere, uint64_t since_ns, uint64_t now_ns);
/* The time of all domains ends with the recording, each at its last moment if now_ns is 0; threads:
 * that of threads as well. 0 or -ENOMEM. */
int stat_sleep_close(struct stat_model *m, struct stat_process *p, uint64_t now_ns, bool threads);
/* The time of all that have stopped begins. */
void stat_sleep_resume(struct stat_process *p, uint64_t now_ns);
void stat_sleep_done(struct stat_process *p);

#endif
