/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is reported at the end of a run of ring files that were damaged and have been closed since.
 * The list grows with damaged files alone; files of which nothing is wrong leave nothing here.
 */
#ifndef SOURCE_RING_DAMAGES_H
#define SOURCE_RING_DAMAGES_H

#include "codec/ring_layout.h"

#include <stdint.h>

/* The first damage that was found in a file, and how many there are. */
struct ring_damage {
	const char *name; /* of the file; valid as long as the source */
	uint64_t offset;
	const char *expected;	 /* static; NULL: fault says it */
	struct ring_fault fault; /* of a field of the file's header */
	uint64_t count;
};
struct file_damage {
	uint32_t number; /* of the file, in order of addition */
	struct ring_damage damage;
};

struct ring_damages {
	struct file_damage *of; /* their names are owned */
	uint32_t count;
};

/* Takes over the name of the damage on success. 0 or -ENOMEM. */
int ring_damages_keep(struct ring_damages *d, uint32_t number, const struct ring_damage *damage);
void ring_damages_done(struct ring_damages *d);
/* Puts into *best what comes first from number `from` on: it, the damage of a file, or none. */
void ring_damages_pick(struct file_damage *best, uint32_t from, uint32_t number,
		       const struct ring_damage *damage);
/* The same, of all in the list. */
void ring_damages_pick_kept(const struct ring_damages *d, struct file_damage *best, uint32_t from);

#endif
