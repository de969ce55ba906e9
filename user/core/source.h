/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What produces events: a table of functions over one or more lanes, each lane a stream that is
 * already in time order (ties in order of position). Lanes are numbered from 0, may be added while
 * running and are never removed: a lane that has ended reads 0.
 *
 * A source never waits and never knows who consumes it. It copies what may be overwritten (rings)
 * into memory of its own in poll(); read() hands out of that memory.
 */
#ifndef CORE_SOURCE_H
#define CORE_SOURCE_H

#include <ebtrace/event.h>
#include <stddef.h>

struct source;

struct source_ops {
	/* Looks for what is new and takes it in, for every lane. May add lanes. 0, or -errno when
	 * the source as a whole can give no more. Called before a round of read(). */
	int (*poll)(struct source *s);
	/* > 0: events, oldest first; 0: end, for ever; -EAGAIN: none now; else -errno. */
	int (*read)(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap);
	/* A lane that reads -EAGAIN will bring nothing older than this, ns. UINT64_MAX once ended. */
	uint64_t (*horizon)(struct source *s, uint32_t lane);
	/* Detaches and drains: after it, read() gives what is left and then 0. */
	int (*stop)(struct source *s);
	void (*free)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	uint32_t lanes; /* read by the consumer after each poll() */
};

static inline int source_poll(struct source *s)
{
	return s->ops->poll(s);
}
static inline int source_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	return s->ops->read(s, lane, ev, cap);
}
static inline uint64_t source_horizon(struct source *s, uint32_t lane)
{
	return s->ops->horizon(s, lane);
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
