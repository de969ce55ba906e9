/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/pipe_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int add_lane(struct pipe_lanes *p)
{
	if (!array_reserve(p->lane, p->cap, p->count))
		return -ENOMEM;
	p->lane[p->count++] = (struct pipe_lane){0};
	return 0;
}

int pipe_lanes_init(struct pipe_lanes *p, uint64_t window_ns, size_t max, bool spare)
{
	*p = (struct pipe_lanes){.window_ns = window_ns, .max = max, .spare = spare};
	return add_lane(p);
}

void pipe_lanes_done(struct pipe_lanes *p, struct session *session)
{
	for (uint32_t i = 0; i < p->count; i++) {
		struct pipe_lane *l = &p->lane[i];
		for (size_t k = 0; k < l->count; k++)
			session_drop_event(session, &l->queue[l->first + k]);
		free(l->queue);
	}
	free(p->lane);
	map_done(&p->by_domain);
}

int pipe_lanes_of(struct pipe_lanes *p, uint16_t domain, uint32_t *ret)
{
	uint64_t *index = map_get(&p->by_domain, domain);
	if (index) {
		*ret = (uint32_t)*index;
		return 0;
	}
	uint32_t domains = (uint32_t)p->by_domain.count;
	if (p->count < domains + 1 + p->spare && add_lane(p))
		return -ENOMEM;
	index = map_put(&p->by_domain, domain);
	if (!index)
		return -ENOMEM;
	*index = *ret = domains;
	return 0;
}

struct ebt_event *pipe_lanes_room(struct pipe_lanes *p, uint32_t lane)
{
	struct pipe_lane *l = &p->lane[lane];
	/* Not for each event that was taken: at most as many are moved as were taken since. */
	if (l->first >= l->cap / 2 && l->first + l->count == l->cap && l->cap) {
		memmove(l->queue, l->queue + l->first, l->count * sizeof(*l->queue));
		l->first = 0;
	}
	if (!array_reserve(l->queue, l->cap, l->first + l->count))
		return NULL;
	return &l->queue[l->first + l->count];
}

void pipe_lanes_put(struct pipe_lanes *p, uint32_t lane)
{
	struct pipe_lane *l = &p->lane[lane];
	l->last_ns = l->queue[l->first + l->count++].ts;
	p->queued++;
	if (l->last_ns > p->newest_ns)
		p->newest_ns = l->last_ns;
}

bool pipe_lanes_full(const struct pipe_lanes *p)
{
	return p->queued >= p->max;
}

int pipe_lanes_take(struct pipe_lanes *p, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct pipe_lane *l = &p->lane[lane];
	size_t n = cap < l->count ? cap : l->count;
	if (n)
		memcpy(ev, l->queue + l->first, n * sizeof(*ev));
	l->first = n == l->count ? 0 : l->first + n;
	l->count -= n;
	p->queued -= n;
	return (int)n;
}

uint64_t pipe_lanes_horizon(const struct pipe_lanes *p, uint32_t lane)
{
	uint64_t last_ns = p->lane[lane].last_ns;
	uint64_t window_ns = pipe_lanes_full(p) ? 0 : p->window_ns;
	uint64_t newest_ns = p->newest_ns > window_ns ? p->newest_ns - window_ns : 0;
	return newest_ns > last_ns ? newest_ns : last_ns;
}
