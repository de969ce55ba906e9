/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lanes of a trace that is read once, from a pipe. Its blocks follow one another domain by
 * domain, so that a block begins earlier than many before it. Events wait in a queue of their
 * domain. A domain that has written nothing for `window_ns` of the trace's time, or while `max`
 * events of others wait, does not hold up the others any more: its events are late. With `spare`
 * a domain that has written nothing at all holds up the others as long: the last lane is for the
 * next such domain.
 */
#ifndef SOURCE_FILE_PIPE_LANES_H
#define SOURCE_FILE_PIPE_LANES_H

#include "base/map.h"
#include "session/session.h"
#include <ebtrace/event.h>

struct pipe_lane {
	struct ebt_event *queue;
	size_t first, count, cap;
	uint64_t last_ns; /* of its newest event */
};

/* Fields are private but for `count`. */
struct pipe_lanes {
	uint32_t count;
	uint32_t cap;
	struct pipe_lane *lane;
	struct map by_domain; /* domain → index */
	uint64_t window_ns, newest_ns;
	size_t max, queued;
	bool spare;
};

/* One lane, which the first domain will have. 0 or -ENOMEM. */
int pipe_lanes_init(struct pipe_lanes *p, uint64_t window_ns, size_t max, bool spare);
/* Drops the payloads of events that wait. */
void pipe_lanes_done(struct pipe_lanes *p, struct session *session);
/* The lane of a domain, which may be new. 0 or -ENOMEM. */
int pipe_lanes_of(struct pipe_lanes *p, uint16_t domain, uint32_t *ret);
/* Room for the next event of a lane, valid until the next call; NULL: no memory. */
struct ebt_event *pipe_lanes_room(struct pipe_lanes *p, uint32_t lane);
/* The event in that room is valid. */
void pipe_lanes_put(struct pipe_lanes *p, uint32_t lane);
/* True if no more should be read before some are taken. */
bool pipe_lanes_full(const struct pipe_lanes *p);
/* Takes the oldest events of a lane, at most cap: their number, 0 if none waits. */
int pipe_lanes_take(struct pipe_lanes *p, uint32_t lane, struct ebt_event *ev, size_t cap);
/* As horizon() of a source that has not ended. */
uint64_t pipe_lanes_horizon(const struct pipe_lanes *p, uint32_t lane);

#endif
