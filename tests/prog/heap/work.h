/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the domains do with the heap: each keeps a hash table of chained nodes, of which each holds
 * a binary tree that follows from its key and version, and beside the heap a plain array of the
 * versions. Every look-up compares the two, so an object that the collector lost, moved wrongly or
 * overwrote is found. Domains also read each other's published trees.
 */
#ifndef MINIGC_WORK_H
#define MINIGC_WORK_H

#include "heap.h"

#define WORK_KEYS      512
#define WORK_BUCKETS   64
#define WORK_BATCH_OPS 200

struct work {
	uint64_t rng;
	uint32_t version[WORK_KEYS]; /* 0: the key is absent */
	uint32_t versions;	     /* handed out */
	uint32_t keys;		     /* present */
	uint64_t ops;
	const struct emit_user *user; /* NULL: no user events */
};

void work_init(struct domain *d, struct work *w, uint64_t seed, const struct emit_user *user);
/* At most WORK_BATCH_OPS operations and then a minor collection, so it ends at a safepoint. */
void work_batch(struct domain *d);
/* Compares every key with the table; aborts if one differs. */
void work_check_all(struct domain *d);

#endif
