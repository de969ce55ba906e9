/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void ring_lanes_init(struct ring_lanes *l)
{
	*l = (struct ring_lanes){.count = 1};
}

void ring_lanes_done(struct ring_lanes *l)
{
	for (uint32_t i = 1; i < l->count; i++)
		ring_lane_free(l->lane[i]);
	free(l->lane);
	free(l->ended);
	free(l->again);
}

int ring_lanes_reserve(struct ring_lanes *l)
{
	uint32_t lanes = l->cap, ended = l->cap, again = l->cap;
	if (l->ended_count)
		return 0;
	if (!array_reserve(l->lane, lanes, l->count) || !array_reserve(l->ended, ended, l->count) ||
	    !array_reserve(l->again, again, l->count))
		return -ENOMEM;
	l->cap = lanes;
	return 0;
}

uint32_t ring_lanes_put(struct ring_lanes *l, struct ring_lane *lane)
{
	uint32_t number = l->ended_count ? l->ended[--l->ended_count] : l->count;
	if (number == l->count)
		l->count++;
	else
		l->again[l->again_count++] = number;
	l->lane[number] = lane;
	return number;
}

void ring_lanes_end(struct ring_lanes *l, uint32_t number)
{
	ring_lane_free(l->lane[number]);
	l->lane[number] = NULL;
	l->ended[l->ended_count++] = number;
}

bool ring_lanes_begins_again(struct ring_lanes *l, uint32_t *ret)
{
	if (!l->again_count)
		return false;
	*ret = l->again[--l->again_count];
	return true;
}
