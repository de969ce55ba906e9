/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages of 4 KiB as pages of 8 KiB, which is lossy. A page is allocated while one of its halves is.
 * When none is any more it is freed, and scavenged, too, if no half that was ever used is merely
 * free; so events that are in order stay so, and those of pages that do not change are left out.
 * Memory grows with the pages, 17 bytes each.
 */
#ifndef REPORT_PAGES_MODEL_ROUND_H
#define REPORT_PAGES_MODEL_ROUND_H

#include <ebtrace/pagetrace.h>

#include "report/pages/model/heap.h"

#define PAGES_ROUND_BYTES 4096 /* of the pages that are rounded */

struct pages_round {
	struct pages_heap heap; /* of the halves */
	uint64_t events;
	uint64_t widened; /* of the events: those that begin or end within a page */
	uint64_t without; /* of the events: those that changed no page */
	uint64_t
		/* of the events: those of no pages, or beyond PAGES_TRACKED_MAX; no change */
		beyond;
};

void pages_round_init(struct pages_round *r);
void pages_round_done(struct pages_round *r);
/* Calls fn for what becomes of pages of 8 KiB by an event, until it returns non-zero, which is then
 * returned; P and time are the event's. 0 or -ENOMEM. */
int pages_round_event(struct pages_round *r, const struct ebt_pagetrace_event *ev,
		      int (*fn)(void *ctx, const struct ebt_pagetrace_event *ev), void *ctx);

#endif
