/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a timeline viewer shows of sampled allocations beside their events: counters of live and
 * promoted bytes of each process, and the sites that allocated most, the same for every format.
 */
#ifndef SINK_MEM_TRACKS_H
#define SINK_MEM_TRACKS_H

#include "model/mem.h"
#include "model/mem_counters.h"

#define MEM_TRACKS_LIVE	    "live bytes (estimated)"
#define MEM_TRACKS_PROMOTED "promoted bytes (estimated)"
#define MEM_TRACKS_SITES    "biggest allocation sites"

/* A site: all processes together. */
struct mem_tracks_site {
	unsigned rank; /* from 0 */
	/* "3.2 MiB (41.2 %) List.map (list.ml:10:2-8)"; valid during the call */
	const char *name;
	uint64_t bytes, low_bytes, high_bytes; /* low and high: of the 95 % interval */
	uint64_t objects, samples;
};

/* What a sink does with them. 0 or -errno. */
struct mem_tracks_visitor {
	int (*value)(void *ctx, const struct mem_counters_value *v);
	int (*site)(void *ctx, const struct mem_tracks_site *site);
};

struct mem_tracks {
	const struct mem_tracks_visitor *visitor;
	void *ctx;
	struct mem_model model;
	struct mem_counters counters;
};

/* All three are kept. 0 or -ENOMEM; done() works after either. */
int mem_tracks_init(struct mem_tracks *t, const struct session *s,
		    const struct mem_tracks_visitor *v, void *ctx);
void mem_tracks_done(struct mem_tracks *t);
/* 0, or the error of a visitor, or -ENOMEM. */
int mem_tracks_events(struct mem_tracks *t, const struct ebt_event *ev, size_t n);
int mem_tracks_forget(struct mem_tracks *t, uint32_t process);
/* The last values, then the sites, the biggest first. */
int mem_tracks_end(struct mem_tracks *t);

#endif
