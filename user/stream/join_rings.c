/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/join_rings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void free_before(struct ring_past *past)
{
	if (past->before)
		free(past->before->past);
	free(past->before);
}

static void free_past(struct ring_past *past)
{
	if (past)
		free_before(past);
	free(past);
}

void join_rings_done(struct join_rings *rs)
{
	for (uint32_t i = 0; i < rs->lanes; i++)
		free_past(rs->at[i].past);
	free(rs->at);
	*rs = (struct join_rings){0};
}

struct join_ring *join_rings_add(struct join_rings *rs, uint32_t lane)
{
	if (!lane)
		return NULL;
	if (!array_room(rs->at, rs->lanes, lane))
		return NULL;
	struct join_ring *r = &rs->at[lane];
	r->past = calloc(1, sizeof(*r->past));
	return r->past ? r : NULL;
}

void join_ring_renew(struct join_ring *r)
{
	struct ring_past *past = r->past, next = {.stale_next = past->stale_next};
	/* Of more, the oldest is forgotten. */
	bool is_unread = r->flags & RING_STARTED && !past->has_file;
	uint32_t skipped = is_unread && past->unread == JOIN_UNREAD;
	for (uint32_t i = skipped; i < past->unread; i++)
		next.unread_next[next.unread++] = past->unread_next[i];
	if (is_unread)
		next.unread_next[next.unread++] = (uint32_t)r->next;
	free_before(past);
	*past = next;
	*r = (struct join_ring){.past = past, .flags = r->flags & RING_STALE};
}

void join_ring_interrupt(struct join_ring *r)
{
	struct ring_past *past = calloc(1, sizeof(*past));
	struct join_ring *before = calloc(1, sizeof(*before));
	if (!past || !before) {
		free(past);
		free(before);
		join_ring_renew(r);
		return;
	}
	*before = *r;
	past->before = before;
	*r = (struct join_ring){.past = past, .flags = RING_BEHIND};
}

void join_ring_resume(struct join_ring *r)
{
	struct ring_past *past = r->past;
	struct join_ring *before = past->before;
	*r = *before;
	free(before);
	free(past);
}

bool join_ring_take_unread(struct join_ring *r)
{
	struct ring_past *past = r->past;
	if (!past->unread)
		return false;
	past->stale_next = past->unread_next[0];
	memmove(past->unread_next, past->unread_next + 1,
		--past->unread * sizeof(*past->unread_next));
	return true;
}

void join_rings_end(struct join_rings *rs, const struct process *p)
{
	for (uint32_t i = 0; i < p->lanes; i++) {
		struct join_ring *r = join_rings_at(rs, p->lane[i]);
		if (r && r->past)
			r->flags |= RING_ENDED;
	}
}

void join_rings_forget(struct join_rings *rs, const struct process *p)
{
	for (uint32_t i = 0; i < p->lanes; i++) {
		struct join_ring *r = join_rings_at(rs, p->lane[i]);
		if (!r)
			continue;
		free_past(r->past);
		*r = (struct join_ring){0};
	}
}
