/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory for the rings of one run: made for it, removed at its end. It is made in the first
 * base (XDG_RUNTIME_DIR, /dev/shm, /tmp) that no other user can replace and that has space. All
 * operations use its descriptor: a file that gets its name later is not touched. The run holds a
 * lock (flock) on it.
 */
#ifndef ENGINE_PROGRAM_RUNDIR_H
#define ENGINE_PROGRAM_RUNDIR_H

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
 * Opens a directory for temporary files in which only we, root and the owner of '/' can replace our
 * files: it and all its parents belong to one of those, and are sticky or not writable by others. A
 * descriptor, or -errno; -EPERM: it is not such a directory.
 */
int rundir_open_base(const char *path);
/* The bases, in the order in which they are tried; NULL: not set. */
#define RUNDIR_BASES 3
void rundir_bases(const char *ret[RUNDIR_BASES]);

/* Free bytes in the file system of a directory; 0 if that cannot be determined. */
uint64_t rundir_room(int fd);

/*
 * Makes one in the first base with `want_bytes` of free space, else with `least_bytes`. 0 or
 * -errno; -ENOSPC: no base has the space.
 */
int rundir_make(struct rundir *ret, uint64_t want_bytes, uint64_t least_bytes);
/* Removes the files of a recorder (<ebtrace/recorder.h>) from an open directory of a run. */
void rundir_remove_traces(int fd);
/* Removes its files, and itself unless another directory has its name now. 0 or -errno. */
int rundir_remove(struct rundir *r);
void rundir_close(struct rundir *r);

#endif
