/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that the user named as an output. An existing file is opened as a shell's ">" opens it,
 * but not truncated, so we fail where the kernel refuses that (fs.protected_symlinks and similar).
 * Then it is written in one of three ways:
 *
 *   direct    no regular file (a FIFO, a terminal, a device): written directly;
 *   in place  reached through a link, with several names, with another owner, or in a directory
 *             that we cannot write to: the file itself, truncated by outfile_begin();
 *   part      else: FILE.part beside it (FILE.part.1, ... if that name exists), a new file of our
 *             own, locked while we run, which outfile_name() renames to FILE.
 *
 * A file that we create belongs to our user, or under sudo to the user that ran sudo.
 *
 * So a complete file exists until its successor is complete, or, in place, until the first byte. No
 * part of another run is ever removed. All steps use one descriptor of the directory.
 */
#ifndef CMD_OUTFILE_H
#define CMD_OUTFILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/file_id.h"

struct outfile {
	const char *path;	/* given by the user; the caller's */
	const char *base;	/* its last component */
	int dir_fd;		/* of the directory, O_PATH */
	int fd;			/* to write to */
	char *part;		/* path of the part; NULL: direct or in place */
	struct file_id id;	/* of what fd writes to */
	bool regular, in_place; /* in_place: empty it before the first byte */
	bool is_private;	/* as outfile_open() was asked */
	bool created;		/* in place: by us, through a dangling link */
	bool existed;		/* part: the name had a file, `old` */
	struct file_id old;
	int old_fd;
	struct stat made; /* the part, when it was opened */
};

/* The user of files that we create, and in *ret_group their group: under sudo those of the user
 * that ran sudo (SUDO_UID, SUDO_GID). */
uid_t outfile_owner(gid_t *ret_group);

/*
 * is_private: the file is for its user alone, with the mode 0600 from its first byte on, whatever
 * the umask and the file that it replaces have; one of another owner keeps its mode. 0, or an exit
 * status after a line on stderr.
 */
int outfile_open(struct outfile *f, const char *path, bool is_private);
/* Standard output as it was given to us, direct: a pipe of another user has no path to open it
 * by. */
int outfile_open_stdout(struct outfile *f);
/* Opens a part for a name that nothing has, not even a link. 0; -EEXIST: something has it; -errno,
 * after a line on stderr. */
int outfile_open_new(struct outfile *f, const char *path, bool is_private);
/* Before the first byte is written. 0 or -errno. */
int outfile_begin(struct outfile *f);
/*
 * Closes the file, and renames a part to FILE; not if writing failed (err), or if FILE has been
 * replaced meanwhile: the part is then kept, with a line on stderr. Returns `err`, or else the
 * first -errno of closing and renaming.
 */
int outfile_name(struct outfile *f, int err);
/* Opens another part with the same mode and group after a part was renamed. 0 or -errno. */
int outfile_next(struct outfile *f);
void outfile_close(struct outfile *f);
/* Closes, and removes a file that this run created and nothing was written to. */
void outfile_drop(struct outfile *f);
/* The path with ".MARK" before its suffix: run.MARK.ebt. The caller's to free; NULL: no memory. */
char *outfile_marked(const char *path, const char *mark);
/* Prints why a path (NULL: standard output) cannot be written. Returns EXIT_ERROR. */
int outfile_cannot_write(const char *path, int err);

#endif
