/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of stat: of a stream of events, by process, domain and phase, the time that went into
 * collecting garbage, the pauses and their lengths, collections, words, memory, and how much of the
 * time loss can hide something in. It prints nothing. Memory grows neither with the length of the
 * run nor with the number of processes that have ended: of those that the registry has released,
 * the STAT_OWN ones with the most GC time keep numbers and lanes of their own, and all others are
 * added to the sums of their programs.
 *
 * A pause is the outermost span of a domain that stops its mutator (phases.h, pauses.h). Its length
 * goes into the percentiles only if both its ends were seen. One that was cut (by a loss, by the
 * begin or the end of the recording), or that has a late event, is counted apart, and the part that
 * was seen is part of the GC time. So is one with only its end seen, behind a loss or the begin: it
 * has lasted at least from there.
 *
 * A domain's time runs while its ring is in use and recorded into (lane.h). ring_stop and
 * ring_pause stop the time of all domains of the process; a pause of the recording without an event
 * (some runtimes write none) reaches from the last event to ring_resume. Of a live run only what
 * lies behind its begin counts; what the rings hold of the time before serves to know the spans
 * open then.
 *
 * The numbers of a model are read from a snapshot of it (snapshot.h), at any moment and at the end.
 *
 * Coverage is the share of a domain's time outside all holes, [since, ts] of each loss.
 */
#ifndef REPORT_STAT_MODEL_STAT_H
#define REPORT_STAT_MODEL_STAT_H

#include "report/stat/model/lane.h"
#include "report/stat/model/mutator.h"
#include "report/stat/model/process.h"
#include "report/stat/model/programs.h"
#include "report/stat/model/progress.h"
#include "report/stat/model/sets.h"

/* Zeroed memory: none. */
struct stat_ended {
	struct stat_process **heap;
	uint32_t count, cap;
};

#define STAT_OWN 64

/* Readers use first and stream.now_ns; what else there is snapshot.h reads. */
struct stat_model {
	struct stat_stream stream;
	struct stat_processes processes; /* that have numbers of their own */
	struct stat_programs programs;	 /* of all other processes */
	struct stat_ended ended;
	uint32_t own_max;
	struct stat_sets sets;
	struct stat_progress progress;
	bool has_mutators;
	struct stat_mutator_room room; /* of these */
	struct moment first;	       /* time of the first event */
};

/* `s` is kept. own: as many, if more than STAT_OWN, keep their own. 0 or -ENOMEM; done() works
 * after either. */
int stat_model_init(struct stat_model *m, const struct session *s, uint32_t own);
void stat_model_done(struct stat_model *m);
/*
 * Before the first event: counts the pauses that end, until the caller clears it, into a histogram
 * that stays the caller's, and prepares for stat_model_marks().
 */
void stat_model_count_intervals(struct stat_model *m, struct histogram *pauses);
/* Before the first event: percentiles are those of coarse histograms, which need less memory. */
static inline void stat_model_be_coarse(struct stat_model *m)
{
	m->processes.coarse = true;
}
/* Before the first event: measures what share of each window of time mutators had (mutator.h). */
static inline void stat_model_measure_mutators(struct stat_model *m)
{
	m->has_mutators = true;
}
/* In order of time. 0 or -ENOMEM. */
int stat_model_events(struct stat_model *m, const struct ebt_event *ev, size_t n);
/* As forget() of struct sink_ops. 0 or -ENOMEM. */
int stat_model_forget(struct stat_model *m, uint32_t process);
/* All that has been counted up to a moment. */
static inline struct stat_marks stat_model_marks(struct stat_model *m, uint64_t now_ns)
{
	return stat_progress_at(&m->progress, now_ns);
}
/* No more events come: makes the numbers of all processes final as of a moment; a snapshot behind
 * it shares their lanes. 0 or -ENOMEM. */
int stat_model_end(struct stat_model *m, struct moment now);
/*
 * Makes the numbers of a process final as of a moment (stat_process_end()): the time of its lanes
 * and what is open ends there. Of one that is in the model, or of a copy with copies of its lanes,
 * all up to date (snapshot.h). 0 or -ENOMEM.
 */
int stat_model_finish(const struct stat_model *m, struct stat_process *p, struct moment now);

#endif
