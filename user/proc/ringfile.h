/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds and opens the ring files of a process: those that it writes, as its mappings say, and whose
 * name bears its number. A reader of rings has those of others mapped, which are not its own. The
 * other side is not trusted: it may put a link, a FIFO or somebody else's file in our way, so what
 * is opened must be a regular file that belongs to the owner of the process, and the very file that
 * is mapped.
 */
#ifndef PROC_RINGFILE_H
#define PROC_RINGFILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#define RINGFILE_MAX	      16
#define RINGFILE_REASON_BYTES 256

struct ringfile {
	int fd;		/* the caller's */
	char path[192]; /* for messages; cut if longer */
};

/*
 * The pid in the name of a ring file: PID.events, or PID-N.events (N from 2 on) where a process has
 * several; 0: not named like a ring. The pid is the process's own, in its pid namespace.
 */
pid_t ringfile_name_pid(const char *name);

/*
 * Opens the process's rings that it has mapped, in the order of their addresses; if there are none,
 * PID.events in `dir` (may be NULL). Returns their number, 1 to cap, else -errno and one line in
 * `reason` (RINGFILE_REASON_BYTES): -ESRCH no such process (or a zombie, or a kernel thread),
 * -ENOENT no ring, -EACCES or -EPERM no right to look (also: deleted, and no right to open the
 * mapping), -ELOOP a symbolic link, -EINVAL not a regular file, -EOWNERDEAD somebody else's file,
 * -ESTALE another file than the mapped one.
 */
int ringfile_find(pid_t pid, const char *dir, struct ringfile *ret, int cap, char *reason);
/*
 * 1 if the file is a ring of the process, 0 if not. Its name alone says little: in a pid namespace of
 * its own a program has another number, which is somebody else's here. -EMFILE, -ENFILE, -ENOMEM: we
 * could not look, so it may be one.
 */
int ringfile_is_of(pid_t pid, const struct stat *file);
void ringfile_close(struct ringfile *r);

#endif
