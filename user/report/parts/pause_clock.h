/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a pause is, for all reports and formats: the time from the begin of the outermost phase that
 * stops the mutator to the end of that phase, as far as the thread of the phase holds the time of
 * its lane. A lane is a domain, or a thread outside of any. Systhreads share a domain: a finaliser
 * in a collection may yield, and what other threads of the domain do then is no part of the pause.
 *
 * The time of a lane belongs to the thread of its last event. The state of the present thread, by
 * its open phases that stop:
 *
 *            pause_clock_begin      pause_clock_end         pause_clock_switch: another one runs
 *   RUNS 0   PAUSED: begins here    ignored                 as that thread was left
 *   PAUSED   one phase deeper       one less; of the last:  this one WAITS with what it has spent;
 *                                   RUNS, ended             as that thread was left
 *   WAITS    -                      the same, at a loss     PAUSED when it runs again
 *
 * At most PAUSE_CLOCK_WAITING threads of a lane wait. Where more would, and where the thread of a
 * pause is not known, all threads are as one until that pause ends.
 */
#ifndef REPORT_PARTS_PAUSE_CLOCK_H
#define REPORT_PARTS_PAUSE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAUSE_CLOCK_WAITING 8

struct pause_thread {
	uint32_t tid;	   /* 0: not known; of those that wait: a free one */
	uint32_t stopping; /* its open phases that stop the mutator; 0: no pause */
	uint64_t begin_ns; /* of the pause, or of its present part */
	uint64_t spent_ns; /* in its parts before; of a pause that has ended in all */
	void *user;	   /* the caller's, of the pause; NULL at its begin */
};

/* Zeroed memory: no pause. */
struct pause_clock {
	struct pause_thread now;
	struct pause_thread *waiting; /* PAUSE_CLOCK_WAITING, or NULL */
	uint64_t gc_ns;		      /* in all pauses, but for the present part */
};

void pause_clock_done(struct pause_clock *c);
/* A phase that stops the mutator begins. True: a pause begins with it. The thread of the phase is
 * now.tid, which pause_clock_end() asks for. */
static inline bool pause_clock_begin(struct pause_clock *c, uint64_t now_ns)
{
	if (c->now.stopping++)
		return false;
	c->now.begin_ns = now_ns;
	c->now.spent_ns = 0;
	c->now.user = NULL;
	return true;
}
/* A phase of a waiting thread ends. The pause that ends with it; NULL: none does. */
const struct pause_thread *pause_clock_end_waiting(struct pause_clock *c, uint32_t tid);
/* The present part of the pause ends. */
static inline void pause_clock_spend(struct pause_clock *c, uint64_t end_ns)
{
	uint64_t ns = end_ns > c->now.begin_ns ? end_ns - c->now.begin_ns : 0;
	c->gc_ns += ns;
	c->now.spent_ns += ns;
}
/* A phase that stops ends, of the thread that began it (0: of the present one). The pause that ends
 * with it, valid until the next call; NULL: none does. */
static inline const struct pause_thread *pause_clock_end(struct pause_clock *c, uint32_t tid,
							 uint64_t end_ns)
{
	if (tid && tid != c->now.tid)
		return pause_clock_end_waiting(c, tid);
	if (!c->now.stopping || --c->now.stopping)
		return NULL;
	pause_clock_spend(c, end_ns);
	return &c->now;
}
/*
 * Events come of thread `tid` from now_ns on, which is known and another one; the last one before
 * was at last_ns. 1: the pause of the thread before waits; 0: it has none, or goes on;
 * -ENOMEM.
 */
int pause_clock_switch(struct pause_clock *c, uint32_t tid, uint64_t last_ns, uint64_t now_ns);
/* The pauses that wait: the next one from *at on, which moves behind it; NULL at the end. */
const struct pause_thread *pause_clock_next_waiting(const struct pause_clock *c, size_t *at);

#endif
