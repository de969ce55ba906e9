/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chunks of the old spaces, and what the probes of pages report of them: a chunk without a live
 * object is put back into a pool that all domains share; the older half of the pool is returned to
 * the system. Without gc->pages nothing is put back or reported, and the pool stays empty.
 */
#ifndef MINIGC_POOL_H
#define MINIGC_POOL_H

#include <stddef.h>
#include <stdint.h>

struct chunk;
struct domain;

#define POOL_MAX_CHUNKS 16384 /* 1 GiB */

/* Under the heap's lock. */
struct chunk_pool {
	struct chunk *chunk[POOL_MAX_CHUNKS];
	size_t n;
	size_t scavenged; /* the first ones */
	size_t in_use;	  /* chunks of the spaces */
};

/* Runs of pages that a domain reported. */
struct pool_counts {
	uint64_t alloc, free, scavenge;
};

/* Memory for a chunk. Under the heap's lock. */
struct chunk *pool_take(struct domain *d);
/* Domain d, which has stopped the world, puts a chunk back. */
void pool_put(struct domain *d, struct chunk *c);
/* After a sweep by domain d. */
void pool_scavenge(struct domain *d);
/* Pages of 8 KiB in a number of chunks. */
uint64_t pool_pages(size_t chunks);
void pool_done(struct chunk_pool *p);

#endif
