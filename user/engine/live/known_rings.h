/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring files that a run has seen, by their identity: each is opened once, even if it is renamed
 * or other processes map it as well. The birth time is part of the identity, as a file system may
 * give the number of a removed file to the next one; where files have no birth time, device and
 * number are the identity. A ring stays known until it is forgotten: at the latest when its file
 * has been removed.
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
	uid_t owner; /* as `regular`, a current attribute, not part of the identity */
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
/* A moment (CLOCK_BOOTTIME) at which the process that made the file lived: the birth time of the
 * file plus one clock tick. Now, if the file has no birth time; wrong if the wall clock was set
 * since. */
uint64_t known_ring_lived_ns(const struct known_ring *ring);
/* True if both identify the same file. */
bool ring_id_is(const struct ring_id *a, const struct ring_id *b);
/* NULL: not known. */
struct known_ring *known_rings_find(const struct known_rings *k, const struct ring_id *id);
/* True if the open file is known, or cannot be identified. */
bool known_rings_has(const struct known_rings *k, int fd);
/* Adds an open file; the caller fills in the rest. It belongs to the set. NULL: it is known, or on
 * error. */
struct known_ring *known_rings_add(struct known_rings *k, int fd);
/* Removes and frees a ring. The caller puts its directory. */
void known_rings_forget(struct known_rings *k, struct known_ring *ring);
void known_rings_done(struct known_rings *k);

#endif
