/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The damage of ring files that have been closed, for the report at the end of the run. The list
 * grows with damaged files only.
 */
#ifndef SOURCE_RING_DAMAGES_H
#define SOURCE_RING_DAMAGES_H

#include "codec/ring/layout.h"

#include <stdint.h>

/* The first damage that was found in a file, and how many there are. */
struct ring_damage {
	const char *name; /* of the file; valid as long as the source */
	uint64_t offset;
	const char *expected;	 /* static; NULL: see fault */
	struct ring_fault fault; /* of a field of the file's header */
	uint64_t count;
};
struct file_damage {
	uint32_t number; /* of the file, in order of addition */
	struct ring_damage damage;
};

struct ring_damages {
	struct file_damage *of; /* by number; their names are owned */
	uint32_t count;
};

/* Takes ownership of the name of the damage on success. 0 or -ENOMEM. */
int ring_damages_keep(struct ring_damages *d, uint32_t number, const struct ring_damage *damage);
void ring_damages_done(struct ring_damages *d);
/* Sets *best to the damage of a file if that has the least number from `from` on so far. */
void ring_damages_pick(struct file_damage *best, uint32_t from, uint32_t number,
		       const struct ring_damage *damage);
/* ring_damages_pick() for all files in the list. */
void ring_damages_pick_kept(const struct ring_damages *d, struct file_damage *best, uint32_t from);

#endif
