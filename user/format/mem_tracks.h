/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is derived of sampled allocations: counters of live and promoted bytes of each process, and
 * the sites that allocated most.
 */
#ifndef FORMAT_MEM_TRACKS_H
#define FORMAT_MEM_TRACKS_H

#include "format/derived.h"
#include "report/mem/model/counters.h"
#include "report/mem/model/mem.h"

struct mem_tracks {
	const struct derived_visitor *visitor;
	void *ctx;
	struct mem_model model;
	struct mem_counters counters;
};

/* All three are kept. 0 or -ENOMEM; done() works after either. */
int mem_tracks_init(struct mem_tracks *t, const struct session *s, const struct derived_visitor *v,
		    void *ctx);
void mem_tracks_done(struct mem_tracks *t);
/* 0, or the error of a visitor, or -ENOMEM. */
int mem_tracks_event(struct mem_tracks *t, const struct ebt_event *ev);
int mem_tracks_forget(struct mem_tracks *t, uint32_t process);
/* The last values, then the sites, the biggest first. */
int mem_tracks_end(struct mem_tracks *t);

#endif
