/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop of a run: descriptors, timers and the work in between. Each round fires the timers
 * that are due, calls the work, then waits for descriptors as long as the work allows and no timer
 * is due. Timers run on CLOCK_MONOTONIC and fire between two calls of the work also while the work
 * never waits: a tick is late by one call of the work at most. A wait lasts until a descriptor is
 * ready or its time is over, which is rounded up to a millisecond before Linux 5.11. One thread;
 * callbacks may add and remove any descriptor or timer, their own included, and stop the loop.
 *
 * A command adds its own by struct engine_guest (context.h).
 *
 * It does not read from descriptors, and knows nothing of events, sources or signals: a signalfd is
 * a descriptor like any other (signals.h).
 */
#ifndef ENGINE_LOOP_H
#define ENGINE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* 0, or -errno, which ends loop_run(). */
typedef int loop_fn(void *ctx);
/* Nanoseconds that the loop may wait for a descriptor; 0: call again at once; -errno: end. */
typedef int64_t loop_work_fn(void *ctx);

/* Embedded in a struct of its owner. All zero: it is not in a loop. */
struct loop_fd {
	int fd; /* the owner's; removed from the loop before it is closed */
	loop_fn *fn;
	void *ctx;
	bool added; /* private */
};

/* Embedded in a struct of its owner. All zero: it is not set. */
struct loop_timer {
	loop_fn *fn;
	void *ctx;
	uint64_t period_ns;	 /* 0: fires once */
	uint64_t at_ns;		 /* private, as is the rest: when it is due */
	struct loop_timer *next; /* of the timers that are set */
	bool set;
};

int loop_new(struct loop **ret); /* 0 or -errno */
/* Clears its timers. The descriptors and timers stay their owners'; NULL is allowed. */
void loop_free(struct loop *l);

enum loop_trigger {
	LOOP_LEVEL, /* fn is called in each round in which the descriptor is readable or hung up */
	LOOP_EDGE,  /* once each time that more has arrived, even if it is not read */
};
/* Calls w->fn when w->fd is readable. 0 or -errno; -EPERM: a regular file, which always is. */
int loop_add(struct loop *l, struct loop_fd *w, enum loop_trigger trigger);
/* w->fn is not called any more, also in the round that is under way. Nothing if not added. */
void loop_remove(struct loop *l, struct loop_fd *w);

/* Calls t->fn as soon as CLOCK_MONOTONIC reaches at_ns, and each t->period_ns from then on, without
 * making up for those that were missed. Moves a timer that is set. */
void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t at_ns);
void loop_timer_clear(struct loop *l, struct loop_timer *t);

/* Rounds until loop_stop() (0), or the first error of a callback, of the work or of waiting. */
int loop_run(struct loop *l, loop_work_fn *work, void *ctx);
/* Ends loop_run(): at once behind a timer or the work, behind all descriptors of the round else. */
void loop_stop(struct loop *l);

#endif
