/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds and opens the ring files of a process: files that it has mapped for writing, with its pid
 * in their names. (A reader of rings has rings of other processes mapped.) The process is not
 * trusted: it may replace the file by a link, a FIFO or a file of another user. So only a regular
 * file is opened that is the file that is mapped, and belongs to the owner of the process or to our
 * own user: the ring of a process that has dropped root's privileges since is still root's.
 */
#ifndef PROC_RINGFILE_H
#define PROC_RINGFILE_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Rings of one process that a scan opens at most: a runtime has one. A program can map any number,
 * and each takes a descriptor of ours in every scan. */
#define RINGFILE_MAX	      64
#define RINGFILE_REASON_BYTES 256

struct maps_entry;
struct maps_list;
struct memory_reader;

struct ringfile {
	int fd;		/* the caller's */
	char path[192]; /* for messages; cut if longer */
};

/*
 * The pid in the name of a ring file: PID.events, or PID-N.events (N from 2 on) if a process has
 * several; 0: not the name of a ring. The pid is of the process's own pid namespace.
 */
pid_t ringfile_name_pid(const char *name);
/* The process after which a mapping is named, if it may be that of a ring that is written; 0: it is
 * none. */
pid_t ringfile_mapped_pid(const struct maps_entry *e);

/*
 * Opens the rings among the mappings of a process (MAPS_TRACED), in the order of their addresses;
 * if there are none, PID.events in `dir` (may be NULL). Returns their number, 1 to cap, else -errno
 * and one line in `reason` (RINGFILE_REASON_BYTES): -ESRCH no such process (or an ending one, or a
 * kernel thread), -ENOENT no ring, -EACCES or -EPERM no permission (also: the file is deleted, and
 * opening the mapping is not permitted), -ELOOP a symbolic link, -EINVAL not a regular file,
 * -EOWNERDEAD a file of a third user, -ESTALE not the file that is mapped. After an error ret->path
 * names a mapped ring that could not be opened; empty: none is known. memory: opens what is mapped;
 * NULL: without a worker.
 */
int ringfile_open(struct memory_reader *memory, pid_t pid, const struct maps_list *maps,
		  const char *dir, struct ringfile *ret, int cap, char *reason);
/* Reads the mappings and opens their rings. */
int ringfile_find(struct memory_reader *memory, pid_t pid, const char *dir, struct ringfile *ret,
		  int cap, char *reason);
/*
 * 1 if the file is a ring of the process, 0 if not. Its name is not proof: the pid in it may be of
 * another pid namespace, and here of another process. -EMFILE, -ENFILE, -ENOMEM: could not be
 * determined.
 */
int ringfile_is_of(struct memory_reader *memory, pid_t pid, const struct stat *file);
/*
 * A runtime may name and map its file first, then write the header, field by field. True if a field
 * is still 0 and the file was written within the last second; later a field of 0 is damage.
 * nameless: the header of this version has no offset of the names of user events.
 */
bool ringfile_is_being_written(int fd, bool nameless);
void ringfile_close(struct ringfile *r);
/* The first of n <= RINGFILE_MAX that is the same file as one before it; n: none is. */
int ringfile_find_same(const struct ringfile *r, int n);

#endif
