/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A producer of events: a table of functions over one or more lanes, each lane a stream in time
 * order (ties in order of position). Lanes are numbered from 0 and may be added while running. A
 * lane that has ended reads 0; its number may be used again for another one.
 *
 * A source never waits and never knows its consumer. poll() copies data that may be overwritten
 * (rings) into memory of the source; read() returns events from that memory.
 */
#ifndef STREAM_SOURCE_H
#define STREAM_SOURCE_H

#include "session/timebase.h"
#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

struct source;

#define SOURCE_ASLEEP UINT32_MAX

struct source_ops {
	/* Copies new data of every lane. May add lanes. 0, or -errno when the source as a whole has
	 * failed. Called before a round of read(). */
	int (*poll)(struct source *s);
	/* True if a lane that had read 0 begins again: its number is in *ret. Called after poll()
	 * until it returns false. NULL: no lane begins again. */
	bool (*begins_again)(struct source *s, uint32_t *ret);
	/*
	 * Not NULL: lanes sleep. One that has read -EAGAIN is not read again before this returns
	 * its
	 * number in *ret: after poll() it returns true for each lane that may sleep and has events
	 * now, or has ended; then false. Any other lane may be among them.
	 */
	bool (*wakes)(struct source *s, uint32_t *ret);
	/* > 0: events, oldest first; 0: the lane has ended; -EAGAIN: none now; else -errno. After
	 * -EAGAIN a lane is read again once all its events are merged. */
	int (*read)(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap);
	/* A lane that reads -EAGAIN brings no event older than this, ns. UINT64_MAX once ended.
	 * SOURCE_ASLEEP: that of all lanes that sleep; one with an earlier horizon does not. */
	uint64_t (*horizon)(struct source *s, uint32_t lane);
	/* Detaches and drains: after it, read() returns the rest and then 0. */
	int (*stop)(struct source *s);
	void (*free)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	uint32_t lanes;		  /* read by the consumer after each poll() */
	struct timebase timebase; /* of its times; set when it is made */
	uint64_t shift_ns;	  /* added to its times: private, see source_follow() */
};

/*
 * From now on the source's events and horizons are in the time of another timebase. 0, or -ENOTSUP:
 * the offset between the two clocks is not known; the source is not changed.
 */
int source_follow(struct source *s, const struct timebase *output);
void source_shift(const struct source *s, struct ebt_event *ev, size_t n); /* private */

static inline int source_poll(struct source *s)
{
	return s->ops->poll(s);
}
static inline bool source_begins_again(struct source *s, uint32_t *ret)
{
	return s->ops->begins_again && s->ops->begins_again(s, ret);
}
static inline bool source_wakes(struct source *s, uint32_t *ret)
{
	return s->ops->wakes && s->ops->wakes(s, ret);
}
static inline int source_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	int n = s->ops->read(s, lane, ev, cap);
	if (n > 0 && s->shift_ns)
		source_shift(s, ev, (size_t)n);
	return n;
}
static inline uint64_t source_horizon(struct source *s, uint32_t lane)
{
	uint64_t ns = s->ops->horizon(s, lane);
	return ns == UINT64_MAX ? ns : ns + s->shift_ns;
}
static inline int source_stop(struct source *s)
{
	return s->ops->stop(s);
}
static inline void source_free(struct source *s)
{
	if (s)
		s->ops->free(s);
}

#endif
