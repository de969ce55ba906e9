/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live sampled objects of a process, by object id: a hash table of entries, linear probing, at
 * most three quarters full, deletion by backward shift. Zeroed memory is an empty table. Pointers
 * are valid until the next put or delete.
 */
#ifndef REPORT_MEM_MODEL_OBJECTS_H
#define REPORT_MEM_MODEL_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem_object {
	uint64_t id;
	uint64_t ns; /* when it was allocated */
	uint64_t samples;
	union {
		double share;	 /* of mem_process_share() */
		uint64_t number; /* of the allocation, in a run that makes a choice */
	};
	uint32_t row;	/* of its backtrace; 0: a free slot */
	uint8_t source; /* enum ebt_alloc_source */
	bool promoted;
};

struct mem_objects {
	struct mem_object *slot;
	size_t count, cap; /* cap: 0 or a power of two */
};

void mem_objects_done(struct mem_objects *t);
/* The entry of an id: a new one has row 0, which the caller sets. NULL: no memory. */
struct mem_object *mem_objects_put(struct mem_objects *t, uint64_t id);
/* NULL: there is none. */
struct mem_object *mem_objects_get(const struct mem_objects *t, uint64_t id);
void mem_objects_delete(struct mem_objects *t, struct mem_object *o);
/* The next entry from *at on, which advances behind it; NULL at the end. */
struct mem_object *mem_objects_next(const struct mem_objects *t, size_t *at);

#endif
