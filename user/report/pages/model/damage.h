/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What contradicts itself or is missing in a stream of page events. In a complete trace nothing is
 * allocated twice, freed twice or, in a heap, scavenged while it is allocated: each of these means
 * that events are missing. Violations are counted by event, unseen pages that were scavenged by
 * page.
 */
#ifndef REPORT_PAGES_MODEL_DAMAGE_H
#define REPORT_PAGES_MODEL_DAMAGE_H

#include <ebtrace/pagetrace.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGES_FIRST_FAULTS 16
#define PAGES_UNSEEN_FREES 64

enum pages_fault_kind {
	PAGES_DOUBLE_ALLOC = 0,
	PAGES_DOUBLE_FREE = 1, /* of a page that is not allocated */
	PAGES_SCAVENGED_ALLOCATED = 2,
	PAGES_SCAVENGED_UNSEEN = 3, /* counted by page */
	PAGES_UNTRACKED = 4, /* not applied: not of whole pages below 2^48, or beyond the limit */
};
#define PAGES_FAULTS 5

/* An event that is in contradiction with those before it. */
struct pages_fault {
	enum pages_fault_kind kind;
	uint64_t pages; /* of the event: those in contradiction */
	struct ebt_pagetrace_event event;
};

/* A free of pages that no event was about before. An allocation of P -1, which a pipe has last, may
 * explain it. */
struct pages_unseen_free {
	uint64_t ns, addr, pages;
	uint64_t left; /* of them: not explained yet */
};

struct pages_damage {
	uint64_t fault[PAGES_FAULTS];
	struct pages_fault first[PAGES_FIRST_FAULTS];
	uint32_t firsts;
	uint64_t late;	    /* events that came after later ones; without those of P -1 */
	uint64_t late_boot; /* events of P -1 that came so, as in a pipe */
	bool has_boot;	    /* an event of P -1 was seen */
	uint64_t damages, damaged_bytes;
	struct ebt_pagetrace_event damage[PAGES_FIRST_FAULTS]; /* the first ones */
	struct pages_unseen_free unseen_free[PAGES_UNSEEN_FREES];
	uint32_t unseen_frees;
};

void pages_damage_fault(struct pages_damage *d, enum pages_fault_kind kind,
			const struct ebt_pagetrace_event *ev, uint64_t pages);
/* A DAMAGE event. */
void pages_damage_add(struct pages_damage *d, const struct ebt_pagetrace_event *ev);
/* A free of pages without any earlier event. */
void pages_damage_unseen_free(struct pages_damage *d, const struct ebt_pagetrace_event *ev);
/* A page that had a free as its first event turns out to have been allocated before. Sets *ret_ns
 * to the time of the free if it is known; the free is no violation when all its pages are
 * explained. */
bool pages_damage_explain(struct pages_damage *d, uint64_t addr, unsigned page_shift,
			  uint64_t *ret_ns);
/* The sum of the violations, unseen pages excepted. */
uint64_t pages_damage_violations(const struct pages_damage *d);

#endif
