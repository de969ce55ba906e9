/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that were sampled: which number each has, until it is freed. A domain has a list of those
 * in its nursery and one of those in its old space; a minor collection moves objects from the first
 * to the second, or reports them as freed, and a major collection reports what it does not mark.
 */
#ifndef MINIGC_SAMPLED_H
#define MINIGC_SAMPLED_H

#include <stddef.h>
#include <stdint.h>

struct obj;
struct domain;
struct gc;

struct sampled_list {
	struct sampled {
		struct obj *obj;
		uint64_t number;
	} * item;
	size_t n, cap;
};

/* What the program allocated in this domain, and what of it was reported. */
struct sampled_counts {
	uint64_t objects, words;
	uint64_t alloc, promote, collect;
};

struct sampled_heap {
	struct sampled_list young, old;
	struct sampled_counts counts;
};

/* After the allocation of an object with its header. */
void sampled_alloc(struct domain *d, struct obj *obj);
/* When a minor collection has copied what is reachable, before the nursery is empty. */
void sampled_minor(struct domain *d);
/* When a major collection of domain d has marked what is reachable, before the sweep. */
void sampled_major(struct domain *d);
void sampled_done(struct sampled_heap *s);

#endif
