/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of the ring source's lanes. The number of a lane that has ended is given to the next
 * lane, so the source has as many as there were lanes at once. Lane 0 is the source's own and is
 * never given out.
 */
#ifndef SOURCE_RING_LANES_H
#define SOURCE_RING_LANES_H

#include "source/ring_lane.h"

#include <stdbool.h>

struct ring_lanes {
	struct ring_lane **lane; /* by number; NULL: it has ended, and lane 0 */
	uint32_t count, cap;	 /* numbers that were ever given out, and 0 */
	uint32_t *ended;	 /* numbers to be given out again */
	uint32_t ended_count;
	uint32_t *again; /* those that began again since ring_lanes_begins_again() was asked */
	uint32_t again_count;
};

void ring_lanes_init(struct ring_lanes *l);
void ring_lanes_done(struct ring_lanes *l); /* frees the lanes */
/* Room for one more lane. 0 or -ENOMEM. */
int ring_lanes_reserve(struct ring_lanes *l);
/* Numbers a lane, which is owned from here on, in the room that was reserved. */
uint32_t ring_lanes_put(struct ring_lanes *l, struct ring_lane *lane);
/* Frees a lane whose end has been read. */
void ring_lanes_end(struct ring_lanes *l, uint32_t number);
/* As source_ops.begins_again. */
bool ring_lanes_begins_again(struct ring_lanes *l, uint32_t *ret);

#endif
