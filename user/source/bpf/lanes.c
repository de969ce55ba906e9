// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/lanes.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ptrmap.h"

/* How far back an event is put into its place. Normally it is a few events; a traced program that
 * makes its time stamps up must not make us slow. */
#define MAX_STEPS_BACK 4096

/* A queue that has emptied keeps no more room than this. */
#define KEEP_EVENTS 1024

/* Threads outside of any domain with a last event kept for each. Before a further one is added all
 * are forgotten but the newest event, which then counts for every thread. */
#define MAX_THREADS 4096

struct bpf_slot_lanes {
	uint32_t *lane; /* by domain; 0: none yet */
	uint32_t domains;
	PTRMAP(struct bpf_last) threads; /* by tid */
	struct bpf_last forgotten;	 /* the newest event of threads that were forgotten */
};

static int new_lane(struct bpf_lanes *l, uint32_t *ret)
{
	if (l->first_free) {
		*ret = l->first_free;
		l->first_free = l->lane[*ret].next_free;
		return 0;
	}
	if (!array_more(l->lane, l->lanes) || !array_more(l->filled, l->lanes))
		return -ENOMEM;
	l->lane[l->lanes] = (struct bpf_lane){0};
	*ret = l->lanes++;
	return 0;
}

int bpf_lanes_init(struct bpf_lanes *l)
{
	uint32_t zero;
	*l = (struct bpf_lanes){0};
	return new_lane(l, &zero);
}

void bpf_lanes_done(struct bpf_lanes *l)
{
	for (uint32_t i = 0; i < l->lanes; i++)
		free(l->lane[i].ev);
	for (uint32_t i = 0; i < l->slots; i++) {
		free(l->slot[i].lane);
		ptrmap_free(&l->slot[i].threads);
	}
	free(l->lane);
	free(l->filled);
	free(l->slot);
	*l = (struct bpf_lanes){0};
}

/* NULL: no memory. */
static struct bpf_slot_lanes *find_slot(struct bpf_lanes *l, uint32_t slot)
{
	return array_room(l->slot, l->slots, slot) ? &l->slot[slot] : NULL;
}

static int find_lane(struct bpf_lanes *l, uint32_t slot, uint16_t domain, uint32_t *ret)
{
	*ret = 0;
	if (domain >= EBT_RING_MAX_DOMAINS)
		return 0;
	struct bpf_slot_lanes *s = find_slot(l, slot);
	if (!s)
		return -ENOMEM;
	if (!array_room(s->lane, s->domains, domain))
		return -ENOMEM;
	if (!s->lane[domain] && new_lane(l, &s->lane[domain]))
		return -ENOMEM;
	*ret = s->lane[domain];
	return 0;
}

static int make_room(struct bpf_lane *q)
{
	if (q->first + q->count < q->cap)
		return 0;
	if (q->first > q->cap / 2) {
		memmove(q->ev, q->ev + q->first, q->count * sizeof(*q->ev));
		q->first = 0;
		return 0;
	}
	return array_reserve(q->ev, q->cap, q->first + q->count) ? 0 : -ENOMEM;
}

static struct bpf_last *last_of_thread(struct bpf_slot_lanes *s, uint32_t tid)
{
	bool is_new;
	if (s->threads.words.count >= MAX_THREADS && !ptrmap_get(&s->threads, tid)) {
		size_t at = 0;
		for (struct bpf_last *p; (p = ptrmap_next(&s->threads, &at));)
			if (p->ts >= s->forgotten.ts)
				s->forgotten = *p;
		ptrmap_free(&s->threads);
	}
	struct bpf_last *last = ptrmap_make(&s->threads, tid, &is_new);
	if (is_new)
		*last = s->forgotten;
	return last;
}

struct bpf_last *bpf_lanes_last(struct bpf_lanes *l, uint32_t slot, uint16_t domain, uint32_t tid)
{
	uint32_t lane;
	if (find_lane(l, slot, domain, &lane))
		return NULL;
	if (lane)
		return &l->lane[lane].last;
	struct bpf_slot_lanes *s = find_slot(l, slot);
	return s ? last_of_thread(s, tid) : NULL;
}

int bpf_lanes_add(struct bpf_lanes *l, uint32_t slot, const struct ebt_event *ev)
{
	return bpf_lanes_put(l, slot, ev->domain, ev);
}

int bpf_lanes_put(struct bpf_lanes *l, uint32_t slot, uint16_t domain, const struct ebt_event *ev)
{
	uint32_t lane;
	int err = find_lane(l, slot, domain, &lane);
	if (err)
		return err;
	struct bpf_lane *q = &l->lane[lane];
	err = make_room(q);
	if (err)
		return err;
	struct ebt_event *end = q->ev + q->first + q->count, *at = end;
	if (lane == 0) {
		size_t steps = q->count < MAX_STEPS_BACK ? q->count : MAX_STEPS_BACK;
		while (steps-- && at[-1].ts > ev->ts)
			at--;
		memmove(at + 1, at, (size_t)(end - at) * sizeof(*at));
	}
	*at = *ev;
	if (ev->ts > q->newest_ns)
		q->newest_ns = ev->ts;
	q->count++;
	l->waiting++;
	if (!q->is_filled)
		l->filled[l->filled_count++] = lane;
	q->is_filled = true;
	return 0;
}

bool bpf_lanes_wakes(struct bpf_lanes *l, bool all, uint32_t *ret)
{
	if (l->wake_at < (all ? l->lanes : 1)) {
		*ret = l->wake_at++;
		return true;
	}
	if (!l->filled_count)
		return false;
	*ret = l->filled[--l->filled_count];
	l->lane[*ret].is_filled = false;
	return true;
}

static void free_queue(struct bpf_lane *q)
{
	free(q->ev);
	q->ev = NULL;
	q->first = q->cap = 0;
}

size_t bpf_lanes_read(struct bpf_lanes *l, uint32_t lane, uint64_t until, struct ebt_event *ev,
		      size_t cap)
{
	struct bpf_lane *q = &l->lane[lane];
	size_t n = q->count < cap ? q->count : cap;
	if (lane == 0)
		for (size_t i = 0; i < n; i++)
			if (q->ev[q->first + i].ts > until)
				n = i;
	if (!n)
		return 0;
	memcpy(ev, q->ev + q->first, n * sizeof(*ev));
	q->first += n;
	q->count -= n;
	l->waiting -= n;
	if (!q->count) {
		q->first = 0;
		if (q->cap > KEEP_EVENTS)
			free_queue(q);
	}
	return n;
}

static bool is_drained(const struct bpf_lanes *l, const struct bpf_slot_lanes *s, uint64_t end_ns)
{
	const struct bpf_lane *mixed = &l->lane[0];
	if (mixed->count && mixed->ev[mixed->first].ts <= end_ns)
		return false;
	for (uint32_t d = 0; d < s->domains; d++)
		if (s->lane[d] && l->lane[s->lane[d]].count)
			return false;
	return true;
}

bool bpf_lanes_release(struct bpf_lanes *l, uint32_t slot, uint64_t end_ns, uint64_t now_ns,
		       bool *ret_future)
{
	struct bpf_slot_lanes none = {0}, *s = slot < l->slots ? &l->slot[slot] : &none;
	bool future = false;
	if (!is_drained(l, s, end_ns))
		return false;
	for (uint32_t d = 0; d < s->domains; d++) {
		struct bpf_lane *q = &l->lane[s->lane[d]];
		if (!s->lane[d])
			continue;
		free_queue(q);
		if (q->newest_ns > now_ns) {
			future = true;
			continue;
		}
		*q = (struct bpf_lane){.next_free = l->first_free, .is_filled = q->is_filled};
		l->first_free = s->lane[d];
	}
	free(s->lane);
	ptrmap_free(&s->threads);
	*s = (struct bpf_slot_lanes){0};
	*ret_future = future;
	return true;
}
