/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of a lane that were counted where its events happened, in place of these events: what has
 * been counted since the tally before it. A source makes them, and a report that wants them has
 * registered itself with the session (struct tally_reader).
 *
 * A tally belongs behind the events up to `at_ns`. Its lane was announced by an event.
 */
#ifndef SESSION_TALLY_H
#define SESSION_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "session/phases.h"

struct tally_phase {
	uint64_t begun, ended, cut, total_ns, self_ns, max_ns;
};

/* Counters that are added up. */
enum tally_counter {
	TALLY_MINOR_BYTES,
	TALLY_MINOR_WORDS,
	TALLY_PROMOTED_BYTES,
	TALLY_PROMOTED_WORDS,
	TALLY_MAJOR_WORDS,
	TALLY_COUNTERS
};

/* An end whose begin was not seen. */
struct tally_orphan {
	uint64_t ts;
	uint64_t since_ns;   /* it may have begun before that; 0: the begin of the lane's time */
	uint64_t earlier_ns; /* the time of the orphan before, since then; 0: none */
	uint64_t earlier_pause_ns; /* of the one before that stops the mutator, likewise */
	uint64_t inner_ns;	   /* in phases inside of it, since then or since that orphan */
	uint32_t row;		   /* of its phase */
	bool is_first;		   /* since then */
	bool is_loss;		   /* since a loss, not since the begin */
};
#define TALLY_ORPHANS 6

struct tally_heap {
	uint64_t ts; /* of the last value; 0: there is none */
	/* Of the lane and of its process, now and at most. */
	uint64_t words, max, sum, max_sum;
};

struct tally {
	struct tally *next; /* the holder's */
	uint64_t at_ns;
	uint32_t process;
	uint32_t tid; /* of a lane without a domain */
	uint16_t domain;
	uint64_t last_ns;	 /* of the last event */
	int64_t gc_ns;		 /* < 0: pauses were parts of one whose begin was not seen */
	struct histogram pauses; /* whose length is sure */
	struct histogram held;	 /* all that are not sure now, beside those of all tallies */
	struct histogram seen;	 /* that have ended, as of pauses_add()'s interval */
	uint64_t cut_by_loss, cut_by_end, cut_max_ns;
	uint64_t majors, compactions, unmatched;
	struct tally_phase phase[PHASE_ROWS]; /* by row */
	uint64_t counter[TALLY_COUNTERS];
	bool counter_seen[TALLY_COUNTERS];
	struct tally_heap heap;
	struct tally_orphan orphan[TALLY_ORPHANS];
	unsigned orphans;
};

/* NULL is allowed. */
void tally_free(struct tally *t);

struct tally_reader {
	/* The tally is the reader's now. NULL: no reader wants any. */
	void (*take)(void *ctx, struct tally *t);
	void *ctx;
};

#endif
