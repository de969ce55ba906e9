/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The domains of threads, and the phases that domains are in, by the events of a run: where a
 * sample is. A domain of which nothing has been seen is silent; that of a thread may come only
 * with its first event. After a loss a domain is silent until its next event.
 */
#ifndef REPORT_PROFILE_MODEL_PLACES_H
#define REPORT_PROFILE_MODEL_PLACES_H

#include <ebtrace/event.h>

#include "base/map.h"
#include "session/phases.h"

/* In place of a row of a phase (session/phases.h). */
enum {
	PLACE_MUTATOR = PHASE_ROWS, /* in no phase that stops it */
	PLACE_SILENT,		    /* in a domain without any event so far */
	PLACE_OUTSIDE,		    /* in no domain */
	PLACE_THREADS,		    /* nor is any thread of its process: profile_place() */
	PLACES,
};

#define PLACE_DEPTH 32 /* phases in one another; of more the outermost are known */

struct places_domain {
	uint32_t process;
	uint16_t number;
	uint16_t row[PLACE_DEPTH];
	uint32_t depth;
	bool is_known;
};

/* Zeroed memory is an empty one. */
struct places {
	struct places_domain *domain;
	uint32_t domains, room;
	struct map by_number; /* process and number → domain + 1 */
	struct map threads;   /* process and thread → its domain's number + 1 */
};

void places_done(struct places *p);
/* An event that is no sample. 0 or -ENOMEM. */
int places_event(struct places *p, const struct ebt_event *ev);
/* The domain and the place of a sample. */
uint16_t places_find(const struct places *p, const struct ebt_event *sample, unsigned *ret_place);
void places_forget(struct places *p, uint32_t process);
/* True for the place of a collector. */
static inline bool place_is_collector(unsigned place)
{
	return place < PHASE_ROWS;
}

#endif
