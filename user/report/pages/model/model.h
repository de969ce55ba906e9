/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers of the model of pages (pages.h), plain data for its readers. */
#ifndef REPORT_PAGES_MODEL_MODEL_H
#define REPORT_PAGES_MODEL_MODEL_H

#include "report/pages/model/damage.h"
#include "report/pages/model/flow.h"
#include "report/pages/model/heap.h"
#include "report/pages/model/map.h"
#include "report/pages/model/owners.h"
#include "report/pages/model/timeline.h"
#include "session/kinds.h"
#include "session/timebase.h"

/* The usual limit: 256 GiB of Go's pages, for which the model needs 512 MiB. */
#define PAGES_TRACKED_MAX (1ull << 25)

struct pages_options {
	bool is_space;		   /* of an address space: see pages.h, event.h */
	uint32_t page_bytes;	   /* a power of two from 4096 to 2 MiB */
	uint64_t pages_max;	   /* the limit of pages; 0: PAGES_TRACKED_MAX */
	struct moment from, until; /* since the first event; until: included */
	struct pages_map *map;	   /* filled beside the timeline; NULL: none. The caller's */
};

/* What a reader knows of a whole trace beside its events. */
struct pages_trace {
	bool known;
	bool has_boot; /* a block of P -1 */
	uint64_t bytes, blocks;
	uint64_t backwards; /* of the blocks: that go back in the time of their P */
};

/* Of an address space: pages that appeared or went without a fault or a system call of the process,
 * by enum ebt_page_cause. */
struct pages_causes {
	uint64_t appeared[KINDS_PAGE_CAUSES], gone[KINDS_PAGE_CAUSES];
	uint64_t late_ns; /* of those found by reading the page tables: by how much at most */
};

/* Readers use all but turn_ns, mark, counting and ended. */
struct pages_model {
	struct pages_options opt;
	struct pages_trace trace;
	struct pages_causes causes; /* of all events up to `until` */
	struct pages_heap heap;
	uint64_t events;	    /* applied, since `from` */
	uint64_t first_ns, last_ns; /* of the trace, up to `until`: the least, the greatest */
	uint64_t watched_ns; /* until when events would have been seen; 0: the last one's time */
	bool begun;	     /* there was an event: first_ns and last_ns are known */
	uint64_t from_ns, end_ns;     /* what the counts are of; of times in the trace */
	uint64_t start[PAGES_COUNTS]; /* pages when the counting began */
	uint64_t peak, peak_ns;	      /* most allocated pages, when first */
	struct pages_moved moved;
	struct pages_timeline *timeline;
	struct pages_owners owners;
	struct pages_lifetimes lifetimes;
	struct pages_churn churn;
	struct pages_damage damage;
	uint64_t turn_ns; /* when a limit is checked next */
	uint8_t mark;	  /* PAGES_FOUND: the event that is applied now was found */
	bool counting, ended;
};

/* The time that the counts cover. */
static inline uint64_t pages_model_elapsed_ns(const struct pages_model *m)
{
	return m->end_ns > m->from_ns ? m->end_ns - m->from_ns : 0;
}
/* A time of the trace since its begin. */
static inline uint64_t pages_model_since(const struct pages_model *m, uint64_t ns)
{
	return ns > m->first_ns ? ns - m->first_ns : 0;
}
/* The growth of the number of allocated pages. */
static inline int64_t pages_model_growth(const struct pages_model *m)
{
	return (int64_t)(m->heap.count[PAGES_ALLOCATED] - m->start[PAGES_ALLOCATED]);
}
static inline bool pages_model_has_boot(const struct pages_model *m)
{
	return m->opt.is_space || m->trace.has_boot || m->damage.has_boot;
}

#endif
