/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/lanes.h"

#include <stdlib.h>

struct span_lane *span_lanes_add(struct span_lanes *ls, const struct processes *ps,
				 const struct ebt_event *ev, struct span_lane **of_process)
{
	bool is_new;
	uint32_t lane = processes_lane_of(ps, ev);
	struct span_lane *l = lane ? ptrarray_make(&ls->by_lane, lane, &is_new) : NULL;
	if (!l || !is_new)
		return l;
	l->lane = lane;
	l->process = ev->process;
	l->domain = ev->domain;
	l->next = *of_process;
	*of_process = l;
	return l;
}

static void free_lane(struct span_lane *l)
{
	pause_clock_done(&l->clock);
	free(l);
}

void span_lanes_forget(struct span_lanes *ls, struct span_lane **of_process)
{
	for (struct span_lane *l; (l = *of_process);) {
		*of_process = l->next;
		ptrarray_remove(&ls->by_lane, l->lane);
		free_lane(l);
	}
	ls->recent = NULL;
}

void span_lanes_done(struct span_lanes *ls)
{
	size_t at = 0;
	for (struct span_lane *l; (l = ptrarray_next(&ls->by_lane, &at));)
		free_lane(l);
	ptrarray_done(&ls->by_lane);
}

void span_lane_note_thread(struct span_lane *l, uint32_t tid)
{
	for (unsigned i = 0; i < 3; i++) {
		if (l->tids[i] == tid)
			return;
		if (!l->tids[i]) {
			l->tids[i] = tid;
			return;
		}
	}
}
