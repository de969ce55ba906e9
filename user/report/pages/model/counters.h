/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages of each process's heap as counters over time: those that are allocated, free,
 * scavenged, and those allocated by each P. They change with each event; no more than two states
 * within PAGE_COUNTERS_NS of the trace's time are due. One that holds longer than that always is,
 * and the last one. It keeps a model of each heap (report/pages/model/pages.h).
 */
#ifndef REPORT_PAGES_MODEL_COUNTERS_H
#define REPORT_PAGES_MODEL_COUNTERS_H

#include "base/ptrarray.h"
#include "report/pages/model/pages.h"
#include "session/session.h"

#define PAGE_COUNTERS_NS 1000000

/* Valid until the next call. */
struct page_counters_state {
	uint64_t ts; /* from when on it holds */
	uint32_t process;
	const struct pages_model *model;
};

struct page_counters {
	const struct session *session;
	PTRARRAY(struct page_counted) processes; /* by index */
};

/* Initialised by zeroes and the session. */
void page_counters_done(struct page_counters *c);
/* Before an event of the family pages: true if the state before it is due. */
bool page_counters_due(struct page_counters *c, const struct ebt_event *ev,
		       struct page_counters_state *ret);
/* Takes the event. 0 or -ENOMEM. */
int page_counters_event(struct page_counters *c, const struct ebt_event *ev);
/* The last state of a process that was not due before; false: there is none. */
bool page_counters_last(struct page_counters *c, uint32_t process, struct page_counters_state *ret);
void page_counters_forget(struct page_counters *c, uint32_t process);
/* A process that was not forgotten; false: there is none any more. */
bool page_counters_any(const struct page_counters *c, uint32_t *ret_process);

#endif
