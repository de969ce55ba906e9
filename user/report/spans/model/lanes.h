/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of the lanes of the registry, for the spans of their threads: which threads run a
 * domain, whether they are in a pause, and when the last event came. It knows no span.
 */
#ifndef REPORT_SPANS_MODEL_LANES_H
#define REPORT_SPANS_MODEL_LANES_H

#include "base/ptrarray.h"
#include "report/parts/pause_clock.h"
#include "session/processes.h"

struct span_lane {
	struct span_lane *next; /* of its process */
	uint32_t lane, process;
	uint16_t domain;
	struct pause_clock clock; /* `user` of its pauses: the row, and 1 */
	uint64_t last_ns;	  /* of its last event */
	uint32_t tids[3];	  /* the first threads of its events */
	uint64_t runs_ns;	  /* the fiber that runs, ran then; 0: none runs */
};

/* Zeroed memory: none. */
struct span_lanes {
	PTRARRAY(struct span_lane) by_lane;
	struct span_lane *recent; /* of the last event of a domain; NULL: not known */
};

/* NULL: nothing is kept of it. */
static inline struct span_lane *span_lanes_at(const struct span_lanes *ls, uint32_t lane)
{
	return ptrarray_get(&ls->by_lane, lane);
}

/* The lane of an event, which most often is that of the one before; NULL: nothing is kept of it. */
static inline struct span_lane *span_lanes_find(struct span_lanes *ls, const struct processes *ps,
						const struct ebt_event *ev)
{
	struct span_lane *l = ls->recent;
	if (l && l->process == ev->process && l->domain == ev->domain)
		return l;
	l = span_lanes_at(ls, processes_lane_of(ps, ev));
	ls->recent = ev->domain == EBT_NO_DOMAIN ? NULL : l;
	return l;
}

/* Begins with the lane of an event; *of_process: a list of the caller's. NULL: no memory. */
struct span_lane *span_lanes_add(struct span_lanes *ls, const struct processes *ps,
				 const struct ebt_event *ev, struct span_lane **of_process);
/* Forgets the lanes of a list, which is empty then. */
void span_lanes_forget(struct span_lanes *ls, struct span_lane **of_process);
void span_lanes_done(struct span_lanes *ls);
/* The lane has an event of this thread. */
void span_lane_note_thread(struct span_lane *l, uint32_t tid);
/* The thread of a domain, where its events name no thread: the first one that was seen to run it.
 * One more may have been seen, as each domain has a thread that only collects. 0: not known, as
 * there were others. */
static inline uint32_t span_lane_owner(const struct span_lane *l, const struct processes *ps)
{
	if (l->tids[2] || !l->tids[0])
		return 0;
	return l->domain ? l->tids[0] : processes_pid(ps, l->process);
}

#endif
