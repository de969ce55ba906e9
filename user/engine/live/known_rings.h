/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring files that a run has seen, by their identity: each is opened once, whatever its name is
 * by then and whoever else has it mapped. The birth time is part of the identity, as a file system
 * may give the number of a removed file to the next one; where files have no birth time, the number
 * must do. A ring stays known until it is forgotten: at the latest when its file has been removed.
 */
#ifndef ENGINE_LIVE_KNOWN_RINGS_H
#define ENGINE_LIVE_KNOWN_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/ptrmap.h"

struct ring_id {
	dev_t dev;
	ino_t ino;
	uint64_t born_s, born_ns;
	uid_t owner; /* these two are of the file now, and do not tell it from others */
	bool regular;
};

struct known_ring {
	struct ring_id id;
	bool requested;		      /* it is there because of us */
	struct ring_dir *dir;	      /* its directory, held; NULL: not known */
	char *name;		      /* in there; NULL: not known */
	struct known_ring *next;      /* of the same process */
	struct known_ring *next_file; /* private: of the same number */
};

/* All zero is an empty set. */
struct known_rings {
	PTRMAP(struct known_ring) by_ino; /* the first of each number */
};

/* The open file, or with a name the file in that directory, a link itself. False: there is none. */
bool ring_id_read(int fd, const char *name, struct ring_id *ret);
/* A moment at which the process lived that has made the file, CLOCK_BOOTTIME: no earlier than that,
 * and not by more than a tick later, unless the file does not know or the clock on the wall was
 * set. */
uint64_t known_ring_lived_ns(const struct known_ring *ring);
/* True if both identify the same file. */
bool ring_id_is(const struct ring_id *a, const struct ring_id *b);
/* NULL: not known. */
struct known_ring *known_rings_find(const struct known_rings *k, const struct ring_id *id);
/* True if the open file is known, or nothing can be known of it. */
bool known_rings_has(const struct known_rings *k, int fd);
/* Adds an open file; the caller fills in the rest. It belongs to the set. NULL: it is known, or on
 * error. */
struct known_ring *known_rings_add(struct known_rings *k, int fd);
/* Removes and frees it; its directory has been given back. */
void known_rings_forget(struct known_rings *k, struct known_ring *ring);
void known_rings_done(struct known_rings *k);

#endif
