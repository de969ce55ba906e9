/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of the ring source's lanes. A new lane gets the number of one that has ended, if any,
 * so there are as many numbers as there were lanes at once. Lane 0 is the source's own and is never
 * assigned.
 */
#ifndef SOURCE_RING_LANES_H
#define SOURCE_RING_LANES_H

#include "source/ring/lane.h"

#include <stdbool.h>

struct ring_lanes {
	struct ring_lane **lane; /* by number; NULL: it has ended, and lane 0 */
	uint32_t count, cap;	 /* numbers that were ever assigned, and 0 */
	uint32_t *ended;	 /* numbers to be assigned again */
	uint32_t ended_count;
	uint32_t *
		again; /* lanes that began again and were not yet returned by ring_lanes_begins_again() */
	uint32_t again_count;
};

void ring_lanes_init(struct ring_lanes *l);
void ring_lanes_done(struct ring_lanes *l); /* frees the lanes */
/* Room for one more lane. 0 or -ENOMEM. */
int ring_lanes_reserve(struct ring_lanes *l);
/* Assigns a number to a lane, in the reserved room, and takes ownership of it. */
uint32_t ring_lanes_put(struct ring_lanes *l, struct ring_lane *lane);
/* Frees a lane whose end has been read. */
void ring_lanes_end(struct ring_lanes *l, uint32_t number);
/* As source_ops.begins_again. */
bool ring_lanes_begins_again(struct ring_lanes *l, uint32_t *ret);

#endif
