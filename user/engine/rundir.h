/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory in which the rings of one run appear: made for it, removed at its end. It is made
 * in the first base (XDG_RUNTIME_DIR, /dev/shm, /tmp) that nobody else can change under us and that
 * has room, and is worked on through its descriptor alone: what somebody puts in the place of its
 * name later is not touched. As long as the run lasts, it has a lock (flock) on it.
 */
#ifndef ENGINE_RUNDIR_H
#define ENGINE_RUNDIR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RUNDIR_PREFIX "ebtrace-run-" /* of its name */

struct rundir {
	int fd, base_fd; /* -1: none was made */
	dev_t dev;
	ino_t ino;
	char path[PATH_MAX]; /* absolute, without symbolic links */
};

/*
 * Opens a directory for temporary files in which nobody but us, root and the owner of '/' can
 * replace what we make: it and all above it belong to one of those, and are not writable by others
 * or sticky. A descriptor, or -errno; -EPERM: it is not such a directory.
 */
int rundir_open_base(const char *path);
/* The bases, in the order in which they are tried; NULL: not set. */
#define RUNDIR_BASES 3
void rundir_bases(const char *ret[RUNDIR_BASES]);

/* Bytes that may still be written below a directory; 0 if that cannot be known. */
uint64_t rundir_room(int fd);

/*
 * Makes one where there is room for `want` bytes, else where there is for `least`. 0 or -errno;
 * -ENOSPC: no base has the room.
 */
int rundir_make(struct rundir *ret, uint64_t want_bytes, uint64_t least_bytes);
/* Removes the files in it, and itself unless another directory has its name by now. 0 or -errno. */
int rundir_remove(struct rundir *r);
void rundir_close(struct rundir *r);

#endif
