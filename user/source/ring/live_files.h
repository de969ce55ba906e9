/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring files that processes may still write to, by process: at its end all of a process's files
 * are found at once. Each exec that keeps its file leaves one, so a process may have any number;
 * the budget of the ring source is their limit. Owns none of them.
 */
#ifndef SOURCE_RING_LIVE_FILES_H
#define SOURCE_RING_LIVE_FILES_H

#include "base/ptrmap.h"
#include "source/ring/file.h"

/* Zeroed memory is empty. */
struct ring_live {
	PTRMAP(struct ring_file) first; /* by process */
};

/* Adds a file, which is live. 0 or -ENOMEM. */
int ring_live_add(struct ring_live *l, struct ring_file *f);
/* Removes a file; one that is not live is not in the set. */
void ring_live_remove(struct ring_live *l, struct ring_file *f);
/* Removes the files of a process, which are live no more. */
void ring_live_end(struct ring_live *l, uint32_t process);
/* The files of a process, linked by next_live; NULL: none. */
struct ring_file *ring_live_first(const struct ring_live *l, uint32_t process);
/* As ring_live_end(), of all processes. */
void ring_live_end_all(struct ring_live *l);
void ring_live_done(struct ring_live *l);

#endif
