/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pauses of one lane: the stretches in which its mutator stands still, from the begin of the
 * outermost phase that stops it to the end of that phase. Lengths go into the sum of the process
 * (struct stat_pauses); their union is the GC time of the lane.
 *
 * The state of the lane's present thread, by `stopping`, the number of open phases that stop:
 *
 *            pauses_begin           pauses_end              pauses_thread: another one runs
 *   RUNS 0   PAUSED: begins here    ignored                 as that thread was left
 *   PAUSED   one phase deeper       one less; of the last:  this one WAITS with what it has spent;
 *                                   RUNS, ended             as that thread was left
 *   WAITS    -                      -                       PAUSED when it runs again
 *
 * A thread that waits inside its pause (a finaliser may give way) spends none of it. At most
 * PAUSES_WAITING are kept; more are as one thread. pauses_cut() cuts those that wait.
 *
 * Behind a loss, and at the begin of the lane's time, an end may come whose begin was not seen;
 * then all pauses since were parts of that one. So they are held, PAUSES_HELD_MAX at most:
 *
 *             pauses_unsure      pauses_end: a pause  held for PAUSES_HELD_NS,  pauses_orphan
 *                                                     or too many, or settled
 *   SURE      UNSURE             counted              -                         - (unmatched)
 *   UNSURE    UNSURE, settled    held                 SURE: the held count      CUT: the held are
 *                                                                               dropped, 1 is cut
 *   CUT       UNSURE, settled    held                 SURE: the held count      CUT: the held are
 *                                                                               dropped
 */
#ifndef MODEL_PAUSES_H
#define MODEL_PAUSES_H

#include "model/stat_numbers.h"

#define PAUSES_WAITING	8
#define PAUSES_HELD_NS	30000000000ull /* hardly any pause lasts longer */
#define PAUSES_HELD_MAX 1024	       /* 4 times a power of 4 */

struct pauses_waiting {
	uint32_t tid, stopping; /* 0, 0: free */
	uint64_t spent_ns;
};

enum pauses_certainty { PAUSES_SURE, PAUSES_UNSURE, PAUSES_CUT };

/* Zeroed memory, with `sum` set: no pauses. */
struct pauses {
	struct stat_pauses *sum; /* of the process */
	uint64_t count, gc_ns;
	uint64_t begin_ns; /* of the open pause, or of its present part */
	uint64_t spent_ns; /* in its parts before */
	uint32_t stopping; /* open phases of the present thread that stop the mutator */
	uint32_t tid;	   /* of the present thread; 0: not known */
	struct pauses_waiting *waiting; /* PAUSES_WAITING, or NULL */

	enum pauses_certainty certainty;
	enum stat_cut unsure_cause;
	uint64_t unsure_ns, unsure_gc_ns; /* since when, and gc_ns then */
	uint64_t *held;
	uint32_t held_count, held_cap;
};

void pauses_done(struct pauses *p);
/* A phase that stops the mutator begins. */
static inline void pauses_begin(struct pauses *p, uint64_t now_ns)
{
	if (p->stopping++)
		return;
	p->begin_ns = now_ns;
	p->spent_ns = 0;
}
/* Whether a thread waits inside its pause. */
bool pauses_waits(const struct pauses *p, uint32_t tid);
/* True if the end of such a phase, of thread `tid`, ends the present pause. A loss may also end
 * what a thread that waits has open. */
static inline bool pauses_leave(struct pauses *p, uint32_t tid)
{
	if (p->waiting && pauses_waits(p, tid))
		return false;
	return p->stopping && !--p->stopping;
}
/*
 * The pause that pauses_leave() has ended lasted until end_ns. cut: STAT_CUTS if both its ends are
 * known. now_ns: of the stream. interval: counts it too, or NULL. 0 or -ENOMEM.
 */
int pauses_end(struct pauses *p, uint64_t end_ns, enum stat_cut cut, uint64_t now_ns,
	       struct histogram *interval);
/* The present pause lies before the run. */
static inline void pauses_drop(struct pauses *p)
{
	p->spent_ns = 0;
}
/* Events come of thread `tid` from now_ns on; the last one before was at last_ns. 0 or -ENOMEM. */
int pauses_thread(struct pauses *p, uint32_t tid, uint64_t last_ns, uint64_t now_ns);
/* The pauses of all threads that wait are cut. */
void pauses_cut(struct pauses *p, enum stat_cut cut);
/* From now_ns on an end may come whose begin was not seen. */
void pauses_unsure(struct pauses *p, uint64_t now_ns, enum stat_cut cause);
/* No such end will come any more: what is held counts. 0 or -ENOMEM. */
int pauses_settle(struct pauses *p);
/* One has come, `ns` after the state became unsure; it stops the mutator. */
void pauses_orphan(struct pauses *p, uint64_t ns);

#endif
