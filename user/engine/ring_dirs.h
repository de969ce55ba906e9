/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directories that rings of a program of ours were found in, so that the rings can be removed
 * when their processes are gone: a program that changes its directory, its root or its mount
 * namespace has them where no path of ours leads by then. It removes files that the caller knows as
 * rings, and nothing else.
 */
#ifndef ENGINE_RING_DIRS_H
#define ENGINE_RING_DIRS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "engine/known_rings.h"
#include "proc/ringfile.h"

#define RING_DIRS_MAX 16 /* rings in directories beyond that are left */

struct ring_dirs {
	struct ring_dir {
		dev_t dev;
		ino_t ino;
		int fd;
	} dir[RING_DIRS_MAX];
	unsigned count;
};

/* `named`: the pid in the file's name; `left`: its process has left its removal to us. */
typedef bool ring_left_over_fn(const struct ring_id *id, pid_t named, bool left, void *ctx);

/*
 * True if a ring of a live process is there because of us, who sent its rings to `dir`. One that has
 * set a directory of its own since then keeps the files in there.
 */
bool ring_dirs_asked(pid_t pid, const char *ring, const char *dir);

/* Keeps the directory of a ring that a live process has mapped. All zero is a valid set. */
void ring_dirs_take(struct ring_dirs *r, pid_t pid, const struct ringfile *ring);
/* Removes what left_over() says from `dir` (may be empty) and from all directories taken. */
void ring_dirs_remove(struct ring_dirs *r, const char *dir, ring_left_over_fn *left_over,
		      void *ctx);
void ring_dirs_done(struct ring_dirs *r);

#endif
