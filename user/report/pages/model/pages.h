/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of pages: of a stream of allocated, freed and scavenged runs of pages, what each page
 * of a heap is, and what happened to pages over time. Its input is the reader's own batches, in
 * order of time; memory grows with the pages of the heap, up to a limit, not with the length of the
 * trace.
 *
 * Counts of pages by state are exact at every event. What happened (moved pages, peak, timeline,
 * lifetimes, churn, owners, allocations a page) counts from `from` on; the state is always that of
 * all events up to `until`. An event that is in contradiction with those before it is counted as a
 * violation (damage.h), and applied. One that comes after later ones, as in a pipe, is applied
 * when it comes; but an allocation of P -1 is as if it had come in time: in totals, timeline and
 * peak, where the peak remains the same moment, and a free of its pages is no violation.
 *
 * A heap frees pages before it scavenges them. Of an address space those that are scavenged are
 * resident until then: for lifetimes, and in the counts of frees by owner, this is a free, too.
 */
#ifndef REPORT_PAGES_MODEL_PAGES_H
#define REPORT_PAGES_MODEL_PAGES_H

#include <stddef.h>

#include "report/pages/model/model.h"

/* 0 or -ENOMEM; done() works after either. */
int pages_model_init(struct pages_model *m, const struct pages_options *o);
void pages_model_done(struct pages_model *m);
/* 0 or -ENOMEM. */
int pages_model_events(struct pages_model *m, const struct ebt_pagetrace_event *ev, size_t n);
/* The size of a process's pages that a model can have: as the process has it (0: not known; a
 * capture may have any number), else `otherwise`. */
static inline uint32_t pages_page_bytes(uint32_t of_process, uint32_t otherwise)
{
	bool can = of_process >= PAGES_PAGE_BYTES_MIN && of_process <= 1u << PAGES_HUGE_SHIFT &&
		   !(of_process & (of_process - 1));
	return can ? of_process : otherwise;
}
/* Unless there is a `from`: counts what happens from now on, as if that were the time of the last
 * event. */
void pages_model_restart(struct pages_model *m);
/* An event of an address space, with its cause, an enum ebt_page_cause, which is counted. Found by
 * reading the page tables it happened in the within_ns before its time. 0 or -ENOMEM. */
int pages_model_space_event(struct pages_model *m, const struct ebt_pagetrace_event *ev,
			    uint32_t cause, uint64_t within_ns);
/* There was no event after the last one until this time: rates are of the time until then. */
void pages_model_watched(struct pages_model *m, uint64_t ns);
/* No more events: numbers are whole then. 0 or -ENOMEM. */
int pages_model_end(struct pages_model *m);

#endif
