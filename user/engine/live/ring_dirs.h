/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directories of the rings of living processes, held open so that the rings can be removed when
 * their processes have ended: after a program has changed its directory, its root or its mount
 * namespace, no path of ours leads to its rings. A directory is held once for all rings in it. Only
 * the very file that the caller knows is removed.
 */
#ifndef ENGINE_LIVE_RING_DIRS_H
#define ENGINE_LIVE_RING_DIRS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/ptrmap.h"
#include "engine/live/known_rings.h"
#include "proc/ringfile.h"

struct memory_reader;
struct ring_dir;

/* The i-th directory that libebtrace-probes chooses for our user; ret: room for PATH_MAX. False:
 * there is none. */
#define RING_DIRS_DEFAULT 2
bool ring_dirs_default(unsigned i, char *ret);

/* All zero is a valid set. */
struct ring_dirs {
	PTRMAP(struct ring_dir) by_file; /* by hash_file() */
	struct ring_dir *own;		 /* NULL: none */
};

/* All rings in this directory are there because of ebtrace. */
void ring_dirs_own(struct ring_dirs *r, const char *path);

/*
 * True if a ring of a live process is there because ebtrace set `dir` as the directory of its
 * rings. False if the ring lies in a directory that the process has set itself since then. held:
 * the ring's directory, or NULL.
 */
bool ring_dirs_requested(const struct ring_dirs *r, const struct ring_dir *held,
			 struct memory_reader *memory, pid_t pid, const char *ring,
			 const char *dir);

/* Holds the directory of a ring that a live process has mapped; or, if that cannot be opened,
 * NULL. */
struct ring_dir *ring_dirs_hold(struct ring_dirs *r, pid_t pid, const struct ringfile *ring);
/* Holds the directory of this path; or NULL. */
struct ring_dir *ring_dirs_hold_path(struct ring_dirs *r, const char *path);
/* A descriptor that stays the directory's; -1: NULL. */
int ring_dirs_fd(const struct ring_dir *dir);
/* Releases one hold; NULL is allowed. */
void ring_dirs_put(struct ring_dirs *r, struct ring_dir *dir);
/* Removes the file of a ring, in its directory, which is held, if it is there because of us: we
 * asked for it, or its process has left its removal to us. False if it is still there. */
bool ring_dirs_remove(const struct known_ring *ring);
/*
 * Removes the rings that a process left to us at its end, whether or not a scan has found them:
 * files named for its pid with the mark of libebtrace-probes, in the directories that are held and
 * in those that the library chooses for our user. left() gets each before, with a descriptor that
 * is its own.
 */
void ring_dirs_remove_left(const struct ring_dirs *r, pid_t pid,
			   void (*left)(void *ctx, pid_t pid, int fd, const char *name), void *ctx);
void ring_dirs_done(struct ring_dirs *r);

#endif
