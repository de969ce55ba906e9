/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring files that a run has seen, by their identity: each is opened once, whatever its name is
 * by then and whoever else has it mapped. The birth time is part of it, as a file system may give
 * the number of a file that was removed to the next one; where files have none, the number must do.
 */
#ifndef ENGINE_KNOWN_RINGS_H
#define ENGINE_KNOWN_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"

struct ring_id {
	dev_t dev;
	ino_t ino;
	uint64_t born_s, born_ns;
	uid_t owner; /* these two are of the file now, and do not tell it from others */
	bool regular;
};

struct known_ring {
	struct ring_id id;
	pid_t pid, named; /* of its writer, as we see it, and as its name says */
	bool asked;	  /* it is there because of us */
	unsigned next;	  /* index + 1, of the same number on another device */
};

/* All zero is an empty set. */
struct known_rings {
	struct known_ring *rings;
	unsigned count, cap;
	struct map by_ino; /* index + 1 */
};

/* The open file, or with a name the file in that directory, a link itself. False: there is none. */
bool ring_id_look(int fd, const char *name, struct ring_id *ret);
/* NULL: not known. Valid until the next call of known_rings_take(). */
const struct known_ring *known_rings_find(const struct known_rings *k, const struct ring_id *id);
/* True if the open file is known, or nothing can be known of it. */
bool known_rings_has(const struct known_rings *k, int fd);
/* Notes an open file, its identity in place of that of `ring`. False if it is known, or on error. */
bool known_rings_take(struct known_rings *k, int fd, const struct known_ring *ring);
/* Forgets the one that was noted last. */
void known_rings_undo(struct known_rings *k);
/* The one that was noted last is no ring: not there because of us, whatever it is called. */
void known_rings_disown(struct known_rings *k);
void known_rings_done(struct known_rings *k);

#endif
