/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of a process, and the sum of those of several: plain data without references, and the
 * rules by which raw counts become the figures of a report. It counts no events itself.
 */
#ifndef REPORT_PARTS_NUMBERS_H
#define REPORT_PARTS_NUMBERS_H

#include "base/histogram.h"
#include "session/phases.h"
#include "session/processes.h"

struct stat_phase {
	uint64_t begun;	   /* begins that were seen */
	uint64_t count;	   /* spans with both ends, neither of them late */
	uint64_t cut;	   /* other spans */
	uint64_t total_ns; /* inside of it; nested ones of its own kind count once */
	uint64_t self_ns;  /* without the phases inside */
	uint64_t max_ns;   /* of those of `count` */
};

/* Why a pause has no known length. LATE: both ends were seen, but the time of one is not its
 * own. */
enum stat_cut { STAT_CUT_START, STAT_CUT_LOSS, STAT_CUT_END, STAT_CUT_LATE, STAT_CUTS };

struct stat_pauses {
	struct histogram whole;
	uint64_t cut[STAT_CUTS];
	uint64_t cut_max_ns; /* the longest part of a cut one that was seen */
};

/* A counter that a release may not have: `seen` is false then. */
struct stat_words {
	bool seen;
	uint64_t words;
};

struct stat_loss {
	uint64_t events, words;
	uint64_t history_events, history_words; /* overwritten before the tracer read */
	uint64_t uncounted, history_uncounted;	/* losses of an unknown number of events */
	uint64_t unwatched, unwatched_ns;	/* probes were not in place */
};

struct stat_numbers {
	uint64_t elapsed_ns, gc_ns, uncovered_ns; /* of all lanes; 0 until the process has ended */
	struct process_usage usage;
	struct stat_pauses pauses;
	struct stat_phase phases[PHASE_ROWS]; /* by phases_row() */
	bool minor_is_shared;		      /* as of struct traits_language */
	uint64_t lane_minors;		      /* begins of `minor` in the lane that has the most */
	uint64_t minors;		      /* of processes that were added */
	uint64_t majors, compactions;
	struct stat_words minor_bytes, minor_words, promoted_bytes, promoted_words;
	struct stat_words major_words, heap, heap_max;
	struct stat_loss lost;
	uint64_t unmatched, late, damaged; /* ends without a begin; late events; EBT_DAMAGE */
};

/* Frees what it holds; the struct stays the caller's. */
void stat_numbers_done(struct stat_numbers *n);
/* Adds a process that has ended, or a sum of such, to a sum. 0 or -ENOMEM: some was added. */
int stat_numbers_add(struct stat_numbers *sum, const struct stat_numbers *n);
/* Adds an EBT_LOST event. */
void stat_loss_count(struct stat_loss *l, const struct ebt_event *lost);

/* Phases with this role that have begun. */
uint64_t stat_numbers_begun(const struct stat_numbers *n, enum traits_role role);
/*
 * Collections. Where all domains take part in each minor one, they are those of the domain that has
 * seen the most, or the phases that one domain does for all (TRAITS_MINOR_ONCE). Other programs
 * without these have their minor collections counted. A major one is a cycle that all domains end
 * together; a program with neither these nor slices has its major collections counted.
 */
uint64_t stat_numbers_minors(const struct stat_numbers *n);
uint64_t stat_numbers_majors(const struct stat_numbers *n);
/* Words allocated in the minor heaps, promoted; some versions count words, others bytes. */
struct stat_words stat_numbers_minor_words(const struct stat_numbers *n);
struct stat_words stat_numbers_promoted_words(const struct stat_numbers *n);
/* part of whole in percent, at most 100; 0 of 0. */
double stat_numbers_percent(uint64_t part, uint64_t whole);

#endif
