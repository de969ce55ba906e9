/* SPDX-License-Identifier: BSD-2-Clause */
/* All that is derived of events, for one visitor. */
#ifndef FORMAT_DERIVED_TRACKS_H
#define FORMAT_DERIVED_TRACKS_H

#include "format/mem_tracks.h"
#include "format/page_tracks.h"
#include "session/kinds.h"

struct derived_tracks {
	struct mem_tracks memory;
	struct page_tracks pages;
};

/* All three are kept. 0 or -ENOMEM; done() works after either. */
static inline int derived_tracks_init(struct derived_tracks *t, const struct session *s,
				      const struct derived_visitor *v, void *ctx)
{
	page_tracks_init(&t->pages, s, v, ctx);
	return mem_tracks_init(&t->memory, s, v, ctx);
}

static inline void derived_tracks_done(struct derived_tracks *t)
{
	mem_tracks_done(&t->memory);
	page_tracks_done(&t->pages);
}

/* Writes what follows from one event of allocations or pages. Events come one at a time, so that
 * the place of the counters does not depend on the size of batches. 0, or the error of the visitor,
 * or -ENOMEM. */
static inline int derived_tracks_event(struct derived_tracks *t, const struct ebt_event *ev)
{
	switch (ev->kind) {
	case EBT_ALLOC:
	case EBT_PROMOTE:
	case EBT_COLLECT:
		return mem_tracks_event(&t->memory, ev);
	default:
		return kinds_family(ev->kind) == KINDS_pages ? page_tracks_event(&t->pages, ev) : 0;
	}
}

static inline int derived_tracks_forget(struct derived_tracks *t, uint32_t process)
{
	int err = mem_tracks_forget(&t->memory, process);
	return err ? err : page_tracks_forget(&t->pages, process);
}

/* The last values, then the sites, the biggest first. */
static inline int derived_tracks_end(struct derived_tracks *t)
{
	int err = page_tracks_end(&t->pages);
	return err ? err : mem_tracks_end(&t->memory);
}

#endif
