/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tallies (session/tally.h) on their way into the model of stat: they wait until the stream of
 * events has come to their moment, so that their lanes are as their other events have left them.
 * Their numbers are added to those of the lane and the process, as if the events had been there. A
 * tally changes no lane's time.
 */
#ifndef REPORT_STAT_MODEL_TALLIES_H
#define REPORT_STAT_MODEL_TALLIES_H

#include "report/stat/model/stat.h"
#include "session/tally.h"

/* Zeroed memory: none. In order of at_ns. */
struct stat_tallies {
	struct tally *first;
	struct tally *last; /* NULL: not known */
	bool any;	    /* there ever were */
};

void stat_tallies_done(struct stat_tallies *ts);
/* The tally is owned from here on. */
void stat_tallies_add(struct stat_tallies *ts, struct tally *t);
/* The next events, up to n, that no tally comes between; 0: one comes first. */
size_t stat_tallies_before(const struct stat_tallies *ts, const struct ebt_event *ev, size_t n);
/* Adds those of up to now_ns to the model. 0 or -ENOMEM. */
int stat_tallies_apply(struct stat_tallies *ts, struct stat_model *m, uint64_t now_ns);
/* And those of a process that is about to be forgotten. 0 or -ENOMEM. */
int stat_tallies_forget(struct stat_tallies *ts, struct stat_model *m, uint32_t process);

#endif
